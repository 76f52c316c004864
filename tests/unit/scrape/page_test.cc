// The page over loopback: what it answers, and what those cost it who ask for nothing.
#include "scrape/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <filesystem>
#include <list>
#include <mutex>
#include <thread>

#include "pki/pki.h"
#include "tests/unit/scrape/client.h"

namespace ringtrue::scrape {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class PlainPage : public testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);
    settings_.address = {"127.0.0.1", 0};
    settings_.page = [] { return std::string("ringtrue_up 1\n"); };
  }
  void start() {
    auto page = Page::start(settings_);
    ASSERT_TRUE(page) << page.error().text();
    page_ = std::move(*page);
  }
  Settings settings_;
  std::unique_ptr<Page> page_;
};

TEST_F(PlainPage, AnswersAgainAndAgainOnOneConnection) {
  start();
  Client client(page_->port());
  for (int i = 0; i < 3; ++i) {
    const std::string answer = client.get();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    EXPECT_THAT(answer, HasSubstr("\r\n\r\nringtrue_up 1\n"));
  }
  EXPECT_THAT(client.get("/-/ready"), HasSubstr("\r\n\r\nok\n"));
  EXPECT_EQ(page_->counts().answered, 3u);
  EXPECT_EQ(page_->counts().refused, 0u);
}

TEST_F(PlainPage, RefusesWhatItDoesNotHave) {
  start();
  EXPECT_THAT(Client(page_->port()).get("/"), StartsWith("HTTP/1.1 404 "));
  Client poster(page_->port());
  ASSERT_TRUE(poster.write("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"));
  EXPECT_THAT(poster.read(), StartsWith("HTTP/1.1 405 "));
  Client with_body(page_->port());
  ASSERT_TRUE(with_body.write("GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"));
  EXPECT_THAT(with_body.read(), StartsWith("HTTP/1.1 413 "));
  EXPECT_EQ(page_->counts().refused, 3u);
}

TEST_F(PlainPage, SendsAPageOfAMegabyte) {
  const std::string page = std::string(1 << 20, 'x') + "\n";
  settings_.page = [&] { return page; };
  start();
  EXPECT_THAT(Client(page_->port()).get(), HasSubstr("\r\n\r\n" + page));
}

TEST_F(PlainPage, CutsAByteATimeAtTheDeadline) {
  settings_.limits.opening = Seconds(0.5);
  start();
  Client slow(page_->port());
  const std::int64_t began = now_ns();
  bool cut = false;
  for (int i = 0; i < 100 && !cut; ++i) {
    slow.write(i == 0 ? "GET /metrics HTTP/1.1\r\nX: " : "a");
    cut = slow.ends_within(Seconds(0.05));
  }
  EXPECT_TRUE(cut);
  EXPECT_GE(seconds_since(began).value, 0.4);
  EXPECT_LE(seconds_since(began).value, 3);
  EXPECT_EQ(page_->counts().cut, 1u);
}

TEST_F(PlainPage, CutsWhoTakesNoAnswer) {
  settings_.limits.answer = Seconds(0.5);
  settings_.page = [] { return std::string(32 << 20, 'x'); };  // more than buffers take
  start();
  Client lazy(page_->port());
  ASSERT_TRUE(lazy.write("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
  const Deadline deadline = Deadline::in(Seconds(10));
  while (page_->counts().cut == 0 && !deadline.passed())
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(page_->counts().cut, 1u);
}

TEST_F(PlainPage, TakesNoTenMegabytes) {
  start();
  const std::string head = "GET /metrics HTTP/1.1\r\nHost: x\r\n";
  Client headers(page_->port());
  bool taken = headers.write(head);
  for (int i = 0; i < 10'000 && taken; ++i) taken = headers.write("X: " + std::string(1000, 'a') + "\r\n");
  EXPECT_FALSE(taken) << "10 MB of headers were taken";
  Client body(page_->port());
  taken = body.write("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n");
  for (int i = 0; i < 10'000 && taken; ++i) taken = body.write(std::string(1000, 'a'));
  EXPECT_FALSE(taken) << "a body of 10 MB was taken";
  EXPECT_EQ(page_->counts().answered, 0u);
  EXPECT_THAT(Client(page_->port()).get(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(PlainPage, WhoSaysNothingKeepsNobodyOut) {
  settings_.limits.opening = Seconds(30);
  start();
  std::list<Client> silent;
  for (int i = 0; i < 64; ++i) silent.emplace_back(page_->port());
  const std::int64_t began = now_ns();
  Client client(page_->port());
  EXPECT_THAT(client.get(), StartsWith("HTTP/1.1 200 "));
  EXPECT_LE(seconds_since(began).value, 5);
  // Known by an answer, it stays, whoever comes.
  for (int i = 0; i < 64; ++i) silent.emplace_back(page_->port());
  EXPECT_THAT(Client(page_->port()).get(), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(client.get(), StartsWith("HTTP/1.1 200 "));
  EXPECT_GE(page_->counts().cut, 100u);
}

TEST_F(PlainPage, NamesAnAddressThatIsTaken) {
  start();
  settings_.address.port = page_->port();
  const auto second = Page::start(settings_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().cause, Cause::unavailable);
  EXPECT_THAT(second.error().text(), HasSubstr("already in use"));
  EXPECT_THAT(second.error().text(), HasSubstr("--metrics"));
}

class TlsPage : public PlainPage {
 protected:
  void SetUp() override {
    PlainPage::SetUp();
    char name[] = "/tmp/ringtrue-test-XXXXXX";
    folder_ = ::mkdtemp(name);
    for (const char* authority : {"pki", "other"}) {
      ASSERT_TRUE(pki::init_authority(in(authority)));
      ASSERT_TRUE(pki::issue_certificates(in(authority), {"node0"}, {}));
      pki::IssueOptions read;
      read.role = pki::Role::read;
      ASSERT_TRUE(pki::issue_certificates(in(authority), {"prometheus"}, read));
    }
    load("pki");
    settings_.credentials = [this] {
      const std::lock_guard lock(mutex_);
      return now_;
    };
    settings_.admit = [this](const std::string& certificate) -> Result<void> {
      const auto who = pki::identify(certificate, settings_.credentials().ca, {}, ::time(nullptr));
      if (!who) return tl::unexpected(who.error());
      return {};
    };
  }
  ~TlsPage() override { std::filesystem::remove_all(folder_); }
  std::string in(const std::string& name) const { return folder_ + "/" + name; }
  void load(const std::string& authority) {
    const auto pem = pki::load_node_credentials(in(authority), "node0");
    ASSERT_TRUE(pem) << pem.error().text();
    const std::lock_guard lock(mutex_);
    now_ = {pem->ca, pem->cert, pem->key, now_.generation + 1};
  }
  std::string get(const std::string& certificate) {
    Client client(page_->port());
    return client.handshake(certificate.empty() ? "" : in(certificate)) ? client.get() : "no handshake";
  }
  std::string folder_;
  std::mutex mutex_;
  Credentials now_;
};

TEST_F(TlsPage, LetsInWhoIsOfTheSameAuthority) {
  start();
  EXPECT_THAT(get("pki/prometheus"), HasSubstr("\r\n\r\nringtrue_up 1\n"));
  EXPECT_THAT(get("other/prometheus"),
              HasSubstr("refused: the certificate of prometheus is of another authority\n"));
  EXPECT_THAT(get(""), HasSubstr("refused: it shows no certificate\n"));
  EXPECT_EQ(page_->counts().answered, 1u);
  EXPECT_EQ(page_->counts().refused, 2u);
}

TEST_F(TlsPage, SpeaksNothingOlderAndNothingPlain) {
  start();
  EXPECT_FALSE(Client(page_->port()).handshake(in("pki/prometheus"), TLS1_2_VERSION));
  EXPECT_THAT(Client(page_->port()).get(), testing::Not(HasSubstr("ringtrue_up")));
  EXPECT_EQ(page_->counts().answered, 0u);
}

TEST_F(TlsPage, TakesNewCertificatesFromTheNextConnectionOn) {
  start();
  Client before(page_->port());
  ASSERT_TRUE(before.handshake(in("pki/prometheus")));
  EXPECT_THAT(before.get(), HasSubstr("ringtrue_up"));
  load("other");
  EXPECT_THAT(get("other/prometheus"), HasSubstr("ringtrue_up"));
  EXPECT_THAT(get("pki/prometheus"), HasSubstr("refused: "));
  EXPECT_THAT(before.get(), testing::Not(HasSubstr("ringtrue_up"))) << "a former client was kept";
}

TEST_F(TlsPage, HalfAHandshakeKeepsNobodyOut) {
  settings_.limits.opening = Seconds(30);
  start();
  std::list<Client> half;
  for (int i = 0; i < 64; ++i) {
    half.emplace_back(page_->port());
    half.back().write(std::string("\x16\x03\x01\x02\x00\x01", 6));
  }
  EXPECT_THAT(get("pki/prometheus"), HasSubstr("ringtrue_up"));
}

TEST_F(TlsPage, CertificatesThatAreNoneAreToldAtTheStart) {
  now_.key = "nonsense";
  const auto page = Page::start(settings_);
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().cause, Cause::bad_input);
}

}  // namespace
}  // namespace ringtrue::scrape
