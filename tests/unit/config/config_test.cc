#include "config/config.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace ringtrue::config {
namespace {

class ConfigFile : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/ringtrue-config-XXXXXX";
    const int fd = mkstemp(name);
    ASSERT_GE(fd, 0);
    close(fd);
    path = name;
  }
  void TearDown() override { unlink(path.c_str()); }

  Sources sources(const std::string& text) {
    std::ofstream(path) << text;
    Sources s;
    s.file = path;
    s.environment = [this](const char* name) -> const char* {
      const auto found = environment.find(name);
      return found == environment.end() ? nullptr : found->second.c_str();
    };
    return s;
  }
  std::string error_of(const std::string& text) {
    const auto r = load(sources(text));
    EXPECT_FALSE(r) << text;
    return r ? "" : r.error().text();
  }

  std::string path;
  std::map<std::string, std::string> environment;
};

TEST_F(ConfigFile, ReadsEveryKey) {
  const auto c = load(sources(R"(hosts = ["node[1-2]", "login"]
pki = "/p"
link_rate = "500Mbit"
transport = "tcp"
memory = "device"
data_interface = "eth1"
data_ports = "7500-7510"
history = "/h"
fleet = "lab"
[groups]
rack = "node[1-8]"
[thresholds]
warning = 0.9
critical = "80%"
[deadlines]
phase = 5
run = "2m"
[watch]
every = "30m"
load = "5%"
hook = "/w"
[daemon]
listen = "0.0.0.0:7464"
state = "/s"
node = "n1"
max_bytes = "1G"
max_ranks = 8
max_seconds = "30s"
peers = ["10.3.7.9/16", "fd00:1::/64"]
events = "/e"
metrics = "127.0.0.1:9464"
)"));
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_EQ(c->hosts.value, "node[1-2],login");
  EXPECT_EQ(c->hosts.origin, path + " line 1");
  EXPECT_DOUBLE_EQ(c->link_rate.value->value, 62.5e6);
  EXPECT_EQ(c->memory.value, run::Memory::device);
  EXPECT_EQ(c->data_ports.value, (Ports{7500, 7510}));
  EXPECT_EQ(c->history.value, "/h");
  EXPECT_EQ(c->fleet.value, "lab");
  EXPECT_DOUBLE_EQ(c->watch.every.value.value, 1800);
  EXPECT_DOUBLE_EQ(c->watch.load.value, 0.05);
  EXPECT_EQ(c->watch.hook.value, "/w");
  EXPECT_EQ(c->host_groups().at("rack"), "node[1-8]");
  EXPECT_DOUBLE_EQ(c->critical.value, 0.8);
  EXPECT_DOUBLE_EQ(c->phase_deadline.value.value, 5);
  EXPECT_DOUBLE_EQ(c->run_deadline.value.value, 120);
  EXPECT_EQ(c->daemon.max_bytes.value.value, 1u << 30);
  EXPECT_EQ(c->daemon.max_ranks.value, 8);
  EXPECT_EQ(c->daemon.peers.value,
            (std::vector{*parse_network("10.3.0.0/16"), *parse_network("fd00:1::/64")}));
  EXPECT_EQ(c->daemon.node.origin, path + " line 25");
  EXPECT_EQ(c->daemon.events.value, "/e");
  EXPECT_EQ(c->daemon.metrics.value, "127.0.0.1:9464");
  // Every value that the file gave is shown as coming from it.
  for (const Given& g : effective(*c))
    if (!g.key.starts_with("inspect.") && !g.key.starts_with("verbs."))
      EXPECT_EQ(g.origin.find(path), 0u) << g.key;
}

TEST_F(ConfigFile, LaysEnvironmentAndFlagsOver) {
  environment = {
      {"RINGTRUE_TRANSPORT", "shm"}, {"RINGTRUE_DAEMON_NODE", "n7"}, {"SLURM_JOB_NODELIST", "s[1-2]"}};
  Sources s = sources("hosts = 'a'\ntransport = 'tcp'\nlink_rate = '1Gbit'\n");
  s.flags = {{"link_rate", "2Gbit", "--link-rate"}};
  const auto c = load(s);
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_EQ(c->transport.value, run::Transport::shm);
  EXPECT_EQ(c->transport.origin, "RINGTRUE_TRANSPORT");
  EXPECT_EQ(c->daemon.node.value, "n7");
  EXPECT_EQ(c->hosts.value, "s[1-2]");
  EXPECT_EQ(c->hosts.origin, "SLURM_JOB_NODELIST");
  EXPECT_DOUBLE_EQ(c->link_rate.value->value, 250e6);
  EXPECT_EQ(c->link_rate.origin, "--link-rate");
  EXPECT_EQ(c->pki.origin, "built in");

  environment["RINGTRUE_HOSTS"] = "x";
  EXPECT_EQ(load(sources(""))->hosts.value, "x");
  environment["RINGTRUE_LINK_RATE"] = "fast";
  EXPECT_NE(error_of("").find("RINGTRUE_LINK_RATE: bad rate 'fast'"), std::string::npos);
}

TEST_F(ConfigFile, TellsTheLineOfAnError) {
  EXPECT_NE(error_of("\nhosst = 'a'\n").find("line 2: unknown key 'hosst'; did you mean hosts?"),
            std::string::npos);
  EXPECT_NE(error_of("[deamon]\n").find("line 1: unknown key 'deamon.'"), std::string::npos);
  EXPECT_NE(error_of("[daemon]\nmax_byte = 1\n").find("did you mean daemon.max_bytes?"), std::string::npos);
  EXPECT_NE(error_of("\n\nx = [\n").find("line "), std::string::npos);
  EXPECT_NE(error_of("[daemon.x]\ny = 1\n").find("unknown table [daemon.x]"), std::string::npos);
  EXPECT_NE(error_of("transport = 'pigeon'").find("line 1: unknown transport 'pigeon'"), std::string::npos);
  EXPECT_NE(error_of("memory = 'tape'").find("line 1: unknown memory 'tape'"), std::string::npos);
  EXPECT_NE(error_of("data_ports = '9-3'").find("bad port range"), std::string::npos);
  EXPECT_NE(error_of("[thresholds]\nwarning = 1.5").find("line 2"), std::string::npos);
  EXPECT_NE(error_of("[thresholds]\nwarning = nan").find("share"), std::string::npos);
  EXPECT_NE(error_of("[thresholds]\nwarning = 0.5").find("is above"), std::string::npos);
  EXPECT_NE(error_of("[deadlines]\nrun = 0").find("deadlines.run is 0"), std::string::npos);
  EXPECT_NE(error_of("[daemon]\nmax_ranks = 0").find("whole number"), std::string::npos);
  EXPECT_NE(error_of("hosts = 2020-01-01").find("a string or a number"), std::string::npos);
}

TEST_F(ConfigFile, NamesAFileThatCannotBeRead) {
  Sources s;
  s.file = "/nonexistent/ringtrue.toml";
  const auto r = load(s);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().cause, Cause::unavailable);
  EXPECT_NE(r.error().text().find("/nonexistent/ringtrue.toml: No such file"), std::string::npos);
}

TEST_F(ConfigFile, WhatIsShownReadsBack) {
  const auto c = load(sources("link_rate = '2.5Gbit'\ndata_ports = '80'\n[daemon]\nmax_bytes = 1000\n"));
  ASSERT_TRUE(c);
  Config again;
  for (const Given& g : effective(*c)) {
    if (g.text.empty()) continue;
    EXPECT_TRUE(apply(again, g)) << g.key;
  }
  EXPECT_DOUBLE_EQ(again.link_rate.value->value, c->link_rate.value->value);
  EXPECT_EQ(again.data_ports.value, c->data_ports.value);
  EXPECT_EQ(again.daemon.max_bytes.value, c->daemon.max_bytes.value);
  // All of them are shown, thresholds of inspection and settings of RDMA, too.
  std::vector<std::string> shown;
  for (const Given& g : effective(*c)) shown.push_back(g.key);
  EXPECT_EQ(shown, known_keys());
}

TEST_F(ConfigFile, TakesThresholdsOfInspection) {
  environment = {{"RINGTRUE_INSPECT_CARRIER_CHANGES", "5"}};
  const auto c = load(sources("[inspect]\nmemlock_bytes = 1e9\ncarrier_changes = 3\n"));
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_EQ(c->inspect.size(), 2u);
  EXPECT_DOUBLE_EQ(c->inspect.at("memlock_bytes").value, 1e9);
  EXPECT_EQ(c->inspect.at("memlock_bytes").origin, path + " line 2");
  EXPECT_DOUBLE_EQ(c->inspect.at("carrier_changes").value, 5);
  EXPECT_EQ(c->inspect.at("carrier_changes").origin, "RINGTRUE_INSPECT_CARRIER_CHANGES");
  Config again;
  for (const Given& g : effective(*c)) {
    if (g.text.empty()) continue;
    EXPECT_TRUE(apply(again, g)) << g.key;
  }
  EXPECT_DOUBLE_EQ(again.inspect.at("memlock_bytes").value, 1e9);
  environment.clear();
  EXPECT_TRUE(load(sources("[inspect]\n")));
  EXPECT_NE(error_of("[inspect]\nmemlok_bytes = 1").find("did you mean inspect.memlock_bytes?"),
            std::string::npos);
  EXPECT_NE(error_of("[inspect]\nmemlock_bytes = 'much'").find("line 2: 'much' is not a number"),
            std::string::npos);
  EXPECT_NE(error_of("[inspect]\nmajority = -1").find("not a number from 0 on"), std::string::npos);
}

}  // namespace
TEST_F(ConfigFile, TakesSettingsOfRdmaAsTheyAre) {
  environment = {{"RINGTRUE_VERBS_GID_INDEX", "3"}};
  const auto c =
      load(sources("transport = 'verbs'\n[verbs]\nrdma_ports = ['mlx5_0', 'mlx5_1:2']\n"
                   "gid_index = 1\nrelaxed_ordering = false\n"));
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_EQ(c->transport.value, run::Transport::verbs);
  EXPECT_EQ(c->verbs.at("rdma_ports").value, "mlx5_0,mlx5_1:2");
  EXPECT_EQ(c->verbs.at("rdma_ports").origin, path + " line 3");
  EXPECT_EQ(c->verbs.at("gid_index").value, "3");
  EXPECT_EQ(c->verbs.at("gid_index").origin, "RINGTRUE_VERBS_GID_INDEX");
  EXPECT_EQ(c->verbs.at("relaxed_ordering").value, "false");
  Config again;
  for (const Given& g : effective(*c)) {
    if (g.text.empty()) continue;
    EXPECT_TRUE(apply(again, g)) << g.key;
  }
  EXPECT_EQ(again.verbs.at("gid_index").value, "3");
  environment.clear();
  EXPECT_TRUE(load(sources("[verbs]\n")));
  EXPECT_NE(error_of("[verbs]\ngid_indx = 1").find("did you mean verbs.gid_index?"), std::string::npos);
}

TEST_F(ConfigFile, TakesKeysOfTheDashboardAsTheyAre) {
  const auto c = load(sources("[tui.keys]\ndown = ['j', 'Down']\nquit = 'Q'\n"));
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_EQ(c->tui_keys.at("down").value, "j,Down");
  EXPECT_EQ(c->tui_keys.at("quit").value, "Q");
  EXPECT_EQ(c->tui_keys.at("quit").origin, path + " line 3");
  EXPECT_NE(error_of("[tui]\ncolour = 1").find("unknown key 'tui.colour'"), std::string::npos);
}

TEST(ReadToml, KeysNestToAnEnd) {
  std::string deep = "a", numbers = "link = [0.5";
  for (int i = 0; i < 60'000; ++i) deep += ".a";
  for (int i = 0; i < 1000; ++i) numbers += ", 0.5";
  for (const std::string& text : {deep + " = 1", "[" + deep + "]", "a = { " + deep + " = 1 }"}) {
    const auto refused = read_toml(text, "f");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().where, "f");
  }
  EXPECT_TRUE(read_toml(numbers + "]", "f"));
}

}  // namespace ringtrue::config
