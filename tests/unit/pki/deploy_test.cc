// Certificates to nodes, by a program in ssh's place that plays each host in a folder of this machine.
#include "pki/deploy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "pki/pki.h"
#include "pki/safe_file.h"
#include "tests/unit/fleet/temporary.h"

namespace ringtrue::pki {
namespace {

using fleet::TemporaryFolder;

class Deploy : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(init_authority(pki));
    // Its last two words are the host and the shell; /etc on a host is a folder with its name.
    std::ofstream(folder.path("ssh"))
        << "#!/bin/sh\n"
           "while [ $# -gt 2 ]; do shift; done\n"
           "echo \"$@\" >>"
        << folder.path("asked")
        << "\n"
           "[ \"$1\" != away ] || { echo 'ssh: connect to host away: no route' >&2; exit 255; }\n"
           "[ \"$1\" != mute ] || exec sleep 100\n"
           "mkdir -p "
        << folder.path("$1")
        << "\n"
           "sed \"s|^to=.*|to='"
        << folder.path("$1") << "/etc/ringtrue/pki'|\" | PATH=" << folder.path("bin") << ":$PATH $2\n";
    ::chmod((folder.path("ssh")).c_str(), 0755);
    std::filesystem::create_directory(folder.path("bin"));
    options.ssh = folder.path("ssh") + " -x";
  }
  // A service manager that knows a daemon, running or not.
  void systemd(bool running) {
    std::ofstream(folder.path("bin/systemctl"))
        << "#!/bin/sh\necho \"$@\" >>" << folder.path("managed") << "\n"
        << "case \"$*\" in *is-active*) exit " << (running ? 0 : 3) << ";; esac\n";
    ::chmod((folder.path("bin/systemctl")).c_str(), 0755);
  }
  std::vector<Deployed> run(const std::vector<std::string>& hosts) {
    auto rows = deploy(pki, hosts, options);
    EXPECT_TRUE(rows) << rows.error().text();
    return rows.value_or(std::vector<Deployed>{});
  }
  std::string at(const std::string& host, const std::string& file) const {
    return folder.path(host + "/etc/ringtrue/pki/" + file);
  }
  std::string text(const std::string& path) const { return read_file(path).value_or(""); }
  static mode_t mode(const std::string& path) {
    struct stat s {};
    return ::stat(path.c_str(), &s) == 0 ? s.st_mode & 07777 : 0;
  }

  TemporaryFolder folder;
  std::string pki = folder.path("pki");
  DeployOptions options;
};

TEST_F(Deploy, PutsWhatIsMissingAndLeavesWhatIsThere) {
  systemd(false);
  auto rows = run({"node1", "root@node2"});
  ASSERT_EQ(rows.size(), 2u);
  for (const Deployed& row : rows) EXPECT_EQ(row.state, DeployState::deployed) << row.node << row.detail;
  EXPECT_EQ(rows[1].node, "node2");
  EXPECT_EQ(rows[1].detail, "certificate issued");
  EXPECT_TRUE(load_node_credentials(folder.path("node1/etc/ringtrue/pki"), "node1"));
  EXPECT_EQ(text(at("node1", "node.key")), text(pki + "/node1/node.key"));
  EXPECT_EQ(mode(at("node1", "node.key")), 0600u);
  EXPECT_EQ(mode(at("node1", "")), 0750u);
  EXPECT_EQ(mode(at("node1", "ca.crt")), 0644u);

  rows = run({"node1"});
  EXPECT_EQ(rows[0].state, DeployState::unchanged) << rows[0].detail;
  EXPECT_EQ(rows[0].detail, "");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path("node1/etc/ringtrue")), {}), 1)
      << "leftovers";
}

TEST_F(Deploy, BringsTheRevokedAndTellsARunningDaemon) {
  systemd(true);
  run({"node1"});
  ASSERT_TRUE(issue_certificates(pki, {"alice"}, {Role::run, {}}));
  ASSERT_TRUE(revoke_certificates(pki, {"alice"}));
  const auto rows = run({"node1"});
  EXPECT_EQ(rows[0].state, DeployState::deployed);
  EXPECT_EQ(rows[0].detail, "daemon reloaded");
  EXPECT_EQ(text(at("node1", "revoked")), text(pki + "/revoked"));
  EXPECT_NE(text(folder.path("managed")).find("reload ringtrued"), std::string::npos);
}

TEST_F(Deploy, TakesANodeOnceWithoutItsPort) {
  systemd(false);
  const auto rows = run({"node1:7464", "node1"});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].node, "node1");
  EXPECT_EQ(text(folder.path("asked")), "node1 sh -s\n");
  EXPECT_FALSE(deploy(pki, {"unix:/run/ringtrued.sock"}, options));
}

TEST_F(Deploy, MendsModesAndWhatWasCutOff) {
  systemd(true);
  run({"node1"});
  EXPECT_EQ(run({"node1"})[0].state, DeployState::unchanged);
  ::chmod(at("node1", "node.key").c_str(), 0644);
  std::filesystem::create_directory(at("node1", "") + "../pki.new.1");
  std::ofstream(at("node1", "") + "../pki.new.1/node.key") << "left";
  const auto rows = run({"node1"});
  EXPECT_EQ(rows[0].detail, "daemon reloaded");
  EXPECT_EQ(mode(at("node1", "node.key")), 0600u);
  EXPECT_FALSE(std::filesystem::exists(at("node1", "") + "../pki.new.1"));
}

TEST_F(Deploy, StartsADaemonWhereAsked) {
  systemd(false);
  options.start = true;
  EXPECT_EQ(run({"node1"})[0].detail, "certificate issued, daemon started");
  EXPECT_NE(text(folder.path("managed")).find("enable --now ringtrued"), std::string::npos);
}

TEST_F(Deploy, RenewsWhatEndsSoon) {
  ASSERT_TRUE(issue_certificates(pki, {"node1"}, {{}, 5}));
  const std::string before = text(pki + "/node1/node.crt");
  EXPECT_EQ(run({"node1"})[0].detail, "certificate issued anew");
  EXPECT_NE(text(pki + "/node1/node.crt"), before);
}

TEST_F(Deploy, ReplacesWhatCountsNoMore) {
  systemd(false);
  run({"node1"});
  ASSERT_TRUE(revoke_certificates(pki, {"node1"}));
  EXPECT_EQ(run({"node1"})[0].detail, "certificate issued anew");
  EXPECT_EQ(run({"node1"})[0].state, DeployState::unchanged);
  const std::string revoked = text(pki + "/revoked");
  for (const char* file : {"/ca.crt", "/ca.key", "/revoked"}) std::filesystem::remove(pki + file);
  ASSERT_TRUE(init_authority(pki));
  const auto rows = run({"node1"});
  EXPECT_EQ(rows[0].detail, "certificate issued anew") << "by the new authority";
  EXPECT_EQ(text(at("node1", "ca.crt")), text(pki + "/ca.crt"));
  std::ofstream(pki + "/revoked") << revoked << "no serial\n";
  EXPECT_FALSE(deploy(pki, {"node1"}, options));
}

TEST_F(Deploy, SaysWhichNodesFailedAndWhy) {
  systemd(false);
  options.patience = Seconds(1);
  const auto rows = run({"away", "mute", "node1"});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].state, DeployState::failed);
  EXPECT_EQ(rows[0].detail, "ssh: connect to host away: no route");
  EXPECT_EQ(rows[1].state, DeployState::failed);
  EXPECT_EQ(rows[1].detail, "it did not answer in time");
  EXPECT_EQ(rows[2].state, DeployState::deployed);
}

TEST_F(Deploy, ShowsNoKeyToAnybody) {
  systemd(false);
  run({"node1"});
  const std::string key = text(pki + "/node1/node.key");
  ASSERT_FALSE(key.empty());
  const std::string secret = key.substr(key.find('\n') + 1, 40);
  EXPECT_EQ(text(folder.path("asked")).find(secret), std::string::npos);
  EXPECT_EQ(text(folder.path("asked")), "node1 sh -s\n");
}

TEST_F(Deploy, RefusesWhatIsNoAuthority) {
  EXPECT_FALSE(deploy(folder.path("none"), {"node1"}, options));
  options.to = "etc";
  EXPECT_FALSE(deploy(pki, {"node1"}, options));
}

}  // namespace
}  // namespace ringtrue::pki
