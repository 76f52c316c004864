#include "fleet/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace ringtrue::fleet {
namespace {

using testing::HasSubstr;

Result<std::vector<Target>> make(const std::vector<std::string>& names) {
  TargetOptions options;
  options.addresses = {{"node1", "10.0.0.1"}, {"node2", "10.0.0.2"}, {"alias1", "10.0.0.1"}};
  return make_targets(names, options);
}

TEST(Targets, HaveTheirNamesAsGiven) {
  const auto targets = make({"node1", "node2:7000", "192.0.2.1", "[::1]:7001", "unix:/run/r.sock"});
  ASSERT_TRUE(targets) << targets.error().text();
  const Target& named = (*targets)[0];
  EXPECT_EQ(named.node, "node1");
  EXPECT_EQ(named.host, "10.0.0.1");
  EXPECT_EQ(named.port, 7464);
  EXPECT_EQ((*targets)[1].node, "node2");
  EXPECT_EQ((*targets)[1].port, 7000);
  EXPECT_EQ(to_text((*targets)[1]), "node2 (10.0.0.2:7000)");
  EXPECT_EQ((*targets)[2].host, "192.0.2.1");
  EXPECT_EQ((*targets)[3].node, "::1");
  EXPECT_EQ(address_text((*targets)[3]), "[::1]:7001");
  EXPECT_EQ((*targets)[4].socket, "/run/r.sock");
  EXPECT_EQ(to_text((*targets)[4]), "unix:/run/r.sock");
}

TEST(Targets, OnOneHostKeepTheirPorts) {
  const auto targets = make({"127.0.0.1:7001", "127.0.0.1:7002", "127.0.0.1", "[::1]:1", "[::1]:2"});
  ASSERT_TRUE(targets) << targets.error().text();
  EXPECT_EQ((*targets)[0].node, "127.0.0.1:7001");
  EXPECT_EQ((*targets)[1].node, "127.0.0.1:7002");
  EXPECT_EQ((*targets)[2].node, "127.0.0.1:7464");
  EXPECT_EQ((*targets)[3].node, "[::1]:1");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(certificate_name((*targets)[std::size_t(i)]), "127.0.0.1");
  EXPECT_EQ(certificate_name((*targets)[3]), "::1");
}

TEST(Targets, AreWrittenAsHostsHasThem) {
  const std::vector<std::string> names = {"node1",      "node2:7000", "127.0.0.1:7001",  "127.0.0.1:7002",
                                          "[::1]:7001", "[::1]",      "unix:/run/r.sock"};
  const auto targets = make(names);
  ASSERT_TRUE(targets) << targets.error().text();
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(host_text((*targets)[i]), names[i]);
}

TEST(Targets, AreLookedUp) {
  const auto targets = make_targets({"localhost"});
  ASSERT_TRUE(targets) << targets.error().text();
  EXPECT_EQ((*targets)[0].node, "localhost");
  EXPECT_EQ((*targets)[0].host, "127.0.0.1");
}

TEST(Targets, UnknownHostIsNamed) {
  // .invalid is reserved to be unknown (RFC 6761); without a name server the look-up fails as well.
  const auto targets = make({"node1", "no-such-host.invalid"});
  ASSERT_FALSE(targets);
  EXPECT_THAT(targets.error().what, HasSubstr("no-such-host.invalid"));
}

TEST(Targets, UnknownHostsStayWhereThatIsAskedFor) {
  TargetOptions options;
  options.addresses["node1"] = "10.0.0.1";
  options.keep_unknown = true;
  const auto targets = make_targets({"node1", "no-such-host.invalid", "nor-this.invalid"}, options);
  ASSERT_TRUE(targets) << targets.error().text();
  ASSERT_EQ(targets->size(), 3u);
  EXPECT_EQ((*targets)[0].host, "10.0.0.1");
  EXPECT_EQ((*targets)[0].unknown, "");
  EXPECT_EQ((*targets)[1].host, "");
  EXPECT_THAT((*targets)[1].unknown, HasSubstr("no-such-host.invalid"));
  EXPECT_THAT((*targets)[2].unknown, HasSubstr("nor-this.invalid"));
  // They are not asked, and told in their place.
  Options none;
  none.phase_deadline = Seconds(0.2);
  const auto states = describe({(*targets)[1], (*targets)[2]}, none).value();
  ASSERT_EQ(states.size(), 2u);
  EXPECT_FALSE(states[1].reachable);
  EXPECT_THAT(states[1].cause, HasSubstr("nor-this.invalid"));
}

TEST(Targets, DuplicatesAreRefused) {
  for (const std::vector<std::string>& names : {std::vector<std::string>{"node1", "node1"},
                                                {"node1", "node1:7464"},
                                                {"unix:/a", "unix:/a"},
                                                {"node1", "alias1"}}) {
    const auto targets = make(names);
    ASSERT_FALSE(targets) << names[1];
    EXPECT_EQ(targets.error().cause, Cause::bad_input);
    EXPECT_THAT(targets.error().what, testing::AnyOf(HasSubstr("twice"), HasSubstr("the same daemon")));
  }
}

TEST(Targets, GarbageIsRefused) {
  for (const char* name :
       {"node1:", "node1:0", "node1:65536", "node1:7x", ":7464", "[::1", "[node1]:1", "[::1]x", "unix:"}) {
    const auto targets = make({name});
    ASSERT_FALSE(targets) << name;
    EXPECT_EQ(targets.error().cause, Cause::bad_input) << name;
  }
  EXPECT_FALSE(make({"unix:/" + std::string(200, 'x')}));
  EXPECT_FALSE(make({}));
}

TEST(Targets, SlurmsListIsFound) {
  setenv("SLURM_JOB_NODELIST", "node[1-4]", 1);
  EXPECT_EQ(slurm_hostlist(), "node[1-4]");
  unsetenv("SLURM_JOB_NODELIST");
  unsetenv("SLURM_NODELIST");
  EXPECT_EQ(slurm_hostlist(), std::nullopt);
}

}  // namespace
}  // namespace ringtrue::fleet
