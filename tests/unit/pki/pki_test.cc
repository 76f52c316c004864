#include "pki/pki.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <filesystem>

#include "pki/safe_file.h"
#include "pki/x509.h"
#include "tests/unit/fleet/temporary.h"

namespace ringtrue::pki {

using fleet::put;
namespace {

using fleet::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t day = 24 * 60 * 60;

int mode_of(const std::string& path) {
  struct stat s {};
  return stat(path.c_str(), &s) == 0 ? int(s.st_mode & 07777) : -1;
}

class Pki : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(init_authority(dir_)); }

  // Replaces the certificate and key in `folder` by ones of this authority with other dates or names.
  void forge(const std::string& folder, const std::string& stem, Profile profile) {
    const KeyPair authority{*read_file(dir_ + "/ca.crt"), *read_file(dir_ + "/ca.key")};
    auto made = make_certificate(profile, &authority);
    ASSERT_TRUE(made);
    put(folder + "/" + stem + ".crt", made->certificate);
    put(folder + "/" + stem + ".key", made->key);
  }

  TemporaryFolder temporary_;
  std::string dir_ = temporary_.path("pki");
};

TEST_F(Pki, InitMakesAnAuthorityAndItsOperator) {
  EXPECT_EQ(mode_of(dir_ + "/ca.key"), 0600);
  EXPECT_EQ(mode_of(dir_ + "/ca.crt"), 0644);
  EXPECT_EQ(mode_of(dir_ + "/operator/operator.key"), 0600);
  EXPECT_EQ(*read_file(dir_ + "/operator/ca.crt"), *read_file(dir_ + "/ca.crt"));
  const auto ca = read_certificate(*read_file(dir_ + "/ca.crt"));
  ASSERT_TRUE(ca);
  EXPECT_TRUE(ca->authority);
  EXPECT_LE(ca->not_before, time(nullptr) - 2 * day);
  EXPECT_GE(ca->not_before, time(nullptr) - 2 * day - 60);
  const auto facts = read_certificate(*read_file(dir_ + "/operator/operator.crt"));
  ASSERT_TRUE(facts);
  EXPECT_FALSE(facts->authority);
  EXPECT_THAT(facts->units, ElementsAre("role:run"));
  EXPECT_EQ(role_of(*read_file(dir_ + "/operator/operator.crt")), Role::run);
}

TEST_F(Pki, InitNeverReplacesAnAuthority) {
  const std::string key = *read_file(dir_ + "/ca.key");
  const auto again = init_authority(dir_);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().cause, Cause::bad_input);
  EXPECT_THAT(again.error().what, HasSubstr("authority in " + dir_ + " already"));
  std::filesystem::remove(dir_ + "/ca.crt");  // even half of one is kept
  EXPECT_FALSE(init_authority(dir_));
  EXPECT_EQ(*read_file(dir_ + "/ca.key"), key);
}

TEST_F(Pki, IssueMakesOneFolderANode) {
  const auto issued = issue_certificates(dir_, {"node1", "node2:7465", "10.0.0.3", "fd00::4"}, {});
  ASSERT_TRUE(issued) << issued.error().text();
  ASSERT_EQ(issued->size(), 4u);
  EXPECT_EQ((*issued)[1].folder, dir_ + "/node2");
  EXPECT_EQ(mode_of(dir_ + "/node1/node.key"), 0600);
  EXPECT_EQ(mode_of(dir_ + "/node1/node.crt"), 0644);
  EXPECT_THAT(read_certificate(*read_file(dir_ + "/node2/node.crt"))->hosts, ElementsAre("node2"));
  EXPECT_THAT(read_certificate(*read_file(dir_ + "/10.0.0.3/node.crt"))->hosts, ElementsAre("10.0.0.3"));
  EXPECT_THAT(read_certificate(*read_file(dir_ + "/fd00::4/node.crt"))->hosts, ElementsAre("fd00::4"));
  EXPECT_EQ(role_of(*read_file(dir_ + "/node1/node.crt")), Role::node);
  EXPECT_NE(*read_file(dir_ + "/node1/node.crt"), *read_file(dir_ + "/node2/node.crt"));
}

TEST_F(Pki, IssueLeavesNoTemporaryFiles) {
  ASSERT_TRUE(issue_certificates(dir_, {"node1"}, {}));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir_ + "/node1"))
    files += entry.is_regular_file();
  EXPECT_EQ(files, 4);
}

TEST_F(Pki, IssueWithARoleIsForAPerson) {
  ASSERT_TRUE(issue_certificates(dir_, {"alice"}, {.role = Role::read, .days = 7}));
  EXPECT_FALSE(exists(dir_ + "/alice/node.crt"));
  const auto bundle = load_operator_credentials(dir_ + "/alice");
  ASSERT_TRUE(bundle) << bundle.error().text();
  EXPECT_EQ(role_of(bundle->cert), Role::read);
  const auto facts = read_certificate(bundle->cert);
  EXPECT_NEAR(double(facts->not_after - time(nullptr)), 7.0 * day, 60);
  EXPECT_TRUE(facts->hosts.empty());
}

TEST_F(Pki, IssueRenews) {
  ASSERT_TRUE(issue_certificates(dir_, {"node1"}, {}));
  const std::string before = *read_file(dir_ + "/node1/node.crt");
  ASSERT_TRUE(issue_certificates(dir_, {"node1"}, {}));
  EXPECT_NE(*read_file(dir_ + "/node1/node.crt"), before);
  EXPECT_TRUE(load_node_credentials(dir_ + "/node1", "node1"));
}

TEST_F(Pki, IssueRefusesWhatItCannotMean) {
  for (const char* name : {"", "../x", ".hidden", "-x", "a/b", "a b", "a:b:c", "operator"}) {
    const auto issued = issue_certificates(dir_, {"good", name}, {});
    ASSERT_FALSE(issued) << name;
    EXPECT_EQ(issued.error().cause, Cause::bad_input) << name;
  }
  EXPECT_FALSE(exists(dir_ + "/good"));  // all names are looked at before any file is written
  EXPECT_FALSE(issue_certificates(dir_, {}, {}));
  EXPECT_THAT(issue_certificates(dir_, {"n"}, {.role = {}, .days = 0}).error().what, HasSubstr("at least 1"));
  EXPECT_THAT(issue_certificates(dir_, {"n"}, {.role = {}, .days = 99999}).error().what,
              HasSubstr("valid only until"));
  EXPECT_THAT(issue_certificates(dir_ + "x", {"n"}, {}).error().what, HasSubstr("no authority in"));
}

TEST_F(Pki, ALongNameIsKeptWhole) {
  const std::string name = std::string(60, 'n') + "." + std::string(60, 'd') + ".example";
  ASSERT_TRUE(issue_certificates(dir_, {name}, {}));
  EXPECT_TRUE(load_node_credentials(dir_, name));
}

TEST_F(Pki, LoadFindsTheFolderByItself) {
  ASSERT_TRUE(issue_certificates(dir_, {"node1"}, {}));
  EXPECT_TRUE(load_operator_credentials(dir_));
  EXPECT_TRUE(load_operator_credentials(dir_ + "/operator"));
  EXPECT_TRUE(load_node_credentials(dir_, "node1"));
  EXPECT_TRUE(load_node_credentials(dir_ + "/node1", "node1"));
  EXPECT_TRUE(load_node_credentials(dir_ + "/node1", ""));
}

TEST_F(Pki, LoadSaysWhatIsMissing) {
  auto r = load_operator_credentials(temporary_.path("nowhere"));
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().what, HasSubstr("no folder"));
  EXPECT_THAT(load_node_credentials(dir_, "node9").error().what, HasSubstr("no node.crt in"));
  std::filesystem::remove(dir_ + "/operator/operator.key");
  r = load_operator_credentials(dir_);
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().what, HasSubstr("operator.key: No such file"));
}

TEST_F(Pki, LoadSaysWhatMayNotBeRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  chmod((dir_ + "/operator/operator.key").c_str(), 0);
  const auto r = load_operator_credentials(dir_);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().cause, Cause::unavailable);
  EXPECT_THAT(r.error().what, HasSubstr("Permission denied"));
}

TEST_F(Pki, LoadRefusesAnotherKey) {
  ASSERT_TRUE(issue_certificates(dir_, {"node1", "node2"}, {}));
  put(dir_ + "/node1/node.key", *read_file(dir_ + "/node2/node.key"));
  EXPECT_THAT(load_node_credentials(dir_, "node1").error().what, HasSubstr("does not belong to"));
  put(dir_ + "/node1/node.key", "garbage");
  EXPECT_THAT(load_node_credentials(dir_, "node1").error().what, HasSubstr("not an unencrypted private key"));
}

TEST_F(Pki, LoadRefusesAnotherAuthority) {
  const std::string other = temporary_.path("other");
  ASSERT_TRUE(init_authority(other));
  put(dir_ + "/operator/ca.crt", *read_file(other + "/ca.crt"));
  EXPECT_THAT(load_operator_credentials(dir_).error().what, HasSubstr("not signed by the authority"));
  put(dir_ + "/operator/ca.crt", "garbage");
  EXPECT_THAT(load_operator_credentials(dir_).error().what, HasSubstr("not a certificate"));
}

TEST_F(Pki, LoadRefusesWhatIsNotValidToday) {
  const std::int64_t now = time(nullptr);
  Profile profile{.name = "operator", .unit = "role:run", .hosts = {}, .client = true};
  profile.not_before = now - 3 * day, profile.not_after = now - day;
  forge(dir_ + "/operator", "operator", profile);
  EXPECT_THAT(load_operator_credentials(dir_).error().what, HasSubstr("expired on " + date_text(now - day)));
  profile.not_before = now + day, profile.not_after = now + 2 * day;
  forge(dir_ + "/operator", "operator", profile);
  EXPECT_THAT(load_operator_credentials(dir_).error().what,
              HasSubstr("valid only from " + date_text(now + day)));
}

TEST_F(Pki, LoadRefusesAnotherNodesCertificate) {
  ASSERT_TRUE(issue_certificates(dir_, {"node1"}, {}));
  const auto r = load_node_credentials(dir_ + "/node1", "node2");
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().what, HasSubstr("is for node1, not for node2"));
}

TEST_F(Pki, RolesAreExact) {
  EXPECT_EQ(role_of("role:read"), Role::read);
  EXPECT_EQ(role_of("role:run"), Role::run);
  EXPECT_EQ(role_of("role:runner"), Role::none);
  EXPECT_EQ(role_of("run"), Role::none);
  EXPECT_EQ(role_of(""), Role::none);
  EXPECT_EQ(role_of("-----BEGIN CERTIFICATE-----\ngarbage"), Role::none);
  EXPECT_TRUE(parse_role("read"));
  EXPECT_FALSE(parse_role("node"));
}

TEST(CertificateNames, AreComparedWithoutCase) {
  EXPECT_TRUE(certificate_is_for({"Node1"}, "node1"));
  EXPECT_FALSE(certificate_is_for({"node1"}, "node10"));
  EXPECT_FALSE(certificate_is_for({}, "node1"));
}

TEST_F(Pki, RevokedSerialsAreKeptInAFile) {
  IssueOptions run;
  run.role = Role::run;
  ASSERT_TRUE(issue_certificates(dir_, {"alice"}, run));
  EXPECT_TRUE(load_revoked(dir_)->empty());
  const std::string ca = *read_file(dir_ + "/ca.crt"), pem = *read_file(dir_ + "/alice/operator.crt");
  const std::int64_t now = time(nullptr);
  ASSERT_TRUE(identify(pem, ca, {}, now));
  EXPECT_EQ(identify(pem, ca, {}, now)->name, "alice");
  EXPECT_THAT(identify(pem, ca, {}, now + 900 * day).error().what, HasSubstr("expired on"));
  EXPECT_THAT(identify(pem, ca, {}, now - 3 * day).error().what, HasSubstr("valid only from"));
  EXPECT_FALSE(identify("nonsense", ca, {}, now));

  ASSERT_TRUE(revoke_certificates(dir_, {"alice", "0123abcdef012345"}));
  ASSERT_TRUE(revoke_certificates(dir_, {"alice"}));  // once more changes nothing
  const auto revoked = load_revoked(dir_);
  ASSERT_TRUE(revoked);
  EXPECT_THAT(*revoked, testing::UnorderedElementsAre("0123ABCDEF012345", read_certificate(pem)->serial));
  EXPECT_THAT(identify(pem, ca, *revoked, now).error().what, HasSubstr("revoked"));
  EXPECT_THAT(revoke_certificates(dir_, {"nobody"}).error().what, HasSubstr("no certificate of"));
  put(dir_ + "/revoked", "# fine\n\nnot a serial\n");
  EXPECT_THAT(load_revoked(dir_).error().what, HasSubstr("line 3"));
}

TEST_F(Pki, RevokingANameRevokesAllThatWasIssuedForIt) {
  IssueOptions read;
  read.role = Role::read;
  Serials issued;
  const auto issue = [&](const IssueOptions& options, const char* file) {
    ASSERT_TRUE(issue_certificates(dir_, {"c99"}, options));
    issued.insert(read_certificate(*read_file(dir_ + "/c99/" + file))->serial);
  };
  EXPECT_FALSE(revoke_certificates(dir_, {"c99"})) << "a name, and no serial";
  issue({}, "node.crt");
  issue(read, "operator.crt");
  issue({}, "node.crt");
  ASSERT_EQ(issued.size(), 3u);
  std::filesystem::remove(dir_ + "/c99/node.key");
  ASSERT_TRUE(revoke_certificates(dir_, {"c99", "c99"}));
  EXPECT_EQ(*load_revoked(dir_), issued);
  issue({}, "node.crt");
  EXPECT_EQ(load_revoked(dir_)->size(), 3u) << "a new one counts";
  EXPECT_FALSE(issue_certificates(dir_, {"revoked"}, {}));
}

TEST_F(Pki, KeysThatOthersMayTouchAreRefused) {
  EXPECT_EQ(mode_of(dir_), 0700);
  EXPECT_EQ(mode_of(dir_ + "/operator"), 0700);
  for (const mode_t mode : {0644, 0660, 0602}) {
    ASSERT_EQ(chmod((dir_ + "/operator/operator.key").c_str(), mode), 0);
    const auto bundle = load_operator_credentials(dir_);
    ASSERT_FALSE(bundle) << mode;
    EXPECT_THAT(bundle.error().what, HasSubstr("others may read or write"));
  }
  ASSERT_EQ(chmod((dir_ + "/operator/operator.key").c_str(), 0640), 0);
  EXPECT_TRUE(load_operator_credentials(dir_));
}

}  // namespace
}  // namespace ringtrue::pki
