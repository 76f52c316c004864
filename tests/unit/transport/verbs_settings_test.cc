#include "run/rdma.h"

#include <gtest/gtest.h>

namespace ringtrue::transport::verbs {
namespace {

TEST(VerbsSettings, ReadsPorts) {
  EXPECT_EQ(*run::parse_port("mlx5_0"), (run::RdmaPort{"mlx5_0", 1}));
  EXPECT_EQ(*run::parse_port("mlx5_bond_0:2"), (run::RdmaPort{"mlx5_bond_0", 2}));
  EXPECT_EQ(to_text(run::RdmaPort{"rxe0", 255}), "rxe0:255");
  const auto ports = run::parse_ports("mlx5_1,mlx5_0:2,mlx5_0");
  ASSERT_TRUE(ports);
  EXPECT_EQ(*ports, (std::vector<run::RdmaPort>{{"mlx5_1", 1}, {"mlx5_0", 2}, {"mlx5_0", 1}}));
}

TEST(VerbsSettings, RefusesWhatIsNoPort) {
  for (const char* text :
       {"", ":", ":1", "mlx5_0:", "mlx5_0:0", "mlx5_0:256", "mlx5_0:-1", "mlx5_0:1x", "mlx5_0:99999999999",
        "mlx5 0", "../mlx5_0", "mlx5_0\n", "mlx5_0,", ",mlx5_0", "a,,b"}) {
    const auto ports = run::parse_ports(text);
    ASSERT_FALSE(ports) << text;
    EXPECT_EQ(ports.error().cause, Cause::bad_input) << text;
    EXPECT_FALSE(ports.error().next.empty()) << text;
  }
  EXPECT_FALSE(run::parse_port(std::string(64, 'a')));
  EXPECT_TRUE(run::parse_port(std::string(63, 'a')));
  EXPECT_EQ(run::parse_ports("mlx5_0,mlx5_0:1").error().what, "port mlx5_0:1 is named twice");
  std::string many = "d0";
  for (int i = 1; i <= 64; ++i) many += ",d" + std::to_string(i);
  EXPECT_FALSE(run::parse_ports(many));
}

TEST(VerbsSettings, HoldsEachValueToItsRange) {
  EXPECT_TRUE(check(run::RdmaSettings{}));
  struct Case {
    const char* what;
    void (*change)(run::RdmaSettings&);
  };
  const Case wrong[] = {
      {"gid_index 256 is not within -1 to 255", [](run::RdmaSettings& s) { s.gid_index = 256; }},
      {"pkey_index 65536 is not within 0 to 65535", [](run::RdmaSettings& s) { s.pkey_index = 65536; }},
      {"gid_index -2 is not within -1 to 255", [](run::RdmaSettings& s) { s.gid_index = -2; }},
      {"path_mtu 1500 is not 256, 512, 1024, 2048 or 4096", [](run::RdmaSettings& s) { s.mtu = 1500; }},
      {"path_mtu 128 is not 256, 512, 1024, 2048 or 4096", [](run::RdmaSettings& s) { s.mtu = 128; }},
      {"path_mtu 8192 is not within 0 to 4096", [](run::RdmaSettings& s) { s.mtu = 8192; }},
      {"ib_timeout 0 is not within 1 to 31", [](run::RdmaSettings& s) { s.timeout = 0; }},
      {"ib_timeout 32 is not within 1 to 31", [](run::RdmaSettings& s) { s.timeout = 32; }},
      {"retry_count 8 is not within 0 to 7", [](run::RdmaSettings& s) { s.retry_count = 8; }},
      {"rnr_retry -1 is not within 0 to 7", [](run::RdmaSettings& s) { s.rnr_retry = -1; }},
      {"traffic_class 256 is not within 0 to 255", [](run::RdmaSettings& s) { s.traffic_class = 256; }},
      {"service_level 16 is not within 0 to 15", [](run::RdmaSettings& s) { s.service_level = 16; }},
      {"queue_pairs 0 is not within 1 to 16", [](run::RdmaSettings& s) { s.queue_pairs = 0; }},
      {"queue_pairs 17 is not within 1 to 16", [](run::RdmaSettings& s) { s.queue_pairs = 17; }},
      {"slot_bytes 4095 is not within 4096 to 4194304", [](run::RdmaSettings& s) { s.slot_bytes = 4095; }},
      {"slot_bytes 4194305 is not within 4096 to 4194304",
       [](run::RdmaSettings& s) { s.slot_bytes = (4 << 20) + 1; }},
      {"slots 1 is not within 2 to 64", [](run::RdmaSettings& s) { s.slots = 1; }},
      {"slots 65 is not within 2 to 64", [](run::RdmaSettings& s) { s.slots = 65; }},
  };
  for (const Case& each : wrong) {
    run::RdmaSettings settings;
    each.change(settings);
    const auto checked = check(settings);
    ASSERT_FALSE(checked) << each.what;
    EXPECT_EQ(checked.error().what, each.what);
    EXPECT_EQ(checked.error().cause, Cause::bad_input);
  }
  for (const int mtu : {0, 256, 512, 1024, 2048, 4096}) {
    run::RdmaSettings settings;
    settings.mtu = mtu;
    EXPECT_TRUE(check(settings)) << mtu;
  }
}

TEST(VerbsSettings, AreSetByName) {
  run::RdmaSettings settings;
  const std::pair<const char*, const char*> words[] = {
      {"rdma_ports", "mlx5_0,mlx5_1:2"}, {"gid_index", "3"},    {"path_mtu", "1024"},
      {"relaxed_ordering", "off"},       {"slot_bytes", "64K"}, {"rdma_memory", "staged"},
  };
  const auto names = run::rdma_setting_names();
  for (const auto& [name, text] : words) {
    EXPECT_TRUE(set(settings, name, text)) << name;
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
  EXPECT_EQ(settings.ports.size(), 2u);
  EXPECT_EQ(settings.gid_index, 3);
  EXPECT_EQ(settings.mtu, 1024);
  EXPECT_FALSE(settings.relaxed_ordering);
  EXPECT_EQ(settings.slot_bytes, 65'536u);
  EXPECT_EQ(settings.registration, run::Registration::staged);
  const std::pair<const char*, const char*> wrong[] = {
      {"gid_index", "256"}, {"gid_index", "x"},     {"gid_index", ""},           {"path_mtu", "1500"},
      {"slots", "3.5"},     {"slot_bytes", "lots"}, {"relaxed_ordering", "yes"}, {"rdma_memory", "none"},
      {"mtu", "1024"},      {"rdma_ports", ""},
  };
  for (const auto& [name, text] : wrong) {
    run::RdmaSettings any;
    EXPECT_FALSE(set(any, name, text)) << name << " " << text;
  }
}

}  // namespace
}  // namespace ringtrue::transport::verbs
