#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "formats/format.h"
#include "probe/recording.h"
#include "tests/support/format_fixture.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

using ringtrue::test::fixture;
using ringtrue::test::value;
using testing::HasSubstr;
using testing::Not;

// node1 of the fabric of fixtures, as a probe records it.
Recording realistic() {
  Recording recording;
  recording.node = "node1";
  recording.made_at = "2026-11-21T07:15:13Z";
  auto& files = recording.files;
  files["/proc/sys/kernel/hostname"] = "node1.cluster.example";
  files["/proc/cmdline"] =
      "BOOT_IMAGE=/vmlinuz root=UUID=0b2c6d4e-1111-2222-3333-444455556666 iommu=pt ip=10.9.8.7";
  files["/sys/class/infiniband/mlx5_0/node_guid"] = "0c42:a103:004e:6fd6";
  files["/sys/class/infiniband/mlx5_0/node_desc"] = "node1 mlx5_0";
  files["/sys/class/infiniband/mlx5_0/fw_ver"] = "20.31.1014.2";
  files["/sys/class/infiniband/mlx5_0/ports/1/gids/0"] = "fe80:0000:0000:0000:0c42:a103:004e:6fd6";
  files["/sys/class/infiniband/mlx5_0/ports/1/gids/1"] = "0000:0000:0000:0000:0000:ffff:0a09:0807";
  files["/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data"] = "1234567890123456";
  files["/sys/class/net/ib0/address"] = "80:00:10:49:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:4e:6f:d6";
  files["/sys/class/net/enx3cecef123456/address"] = "3c:ec:ef:12:34:56";
  files["/sys/class/net/enx3cecef123456/mtu"] = "9000";
  files["/sys/class/dmi/id/product_serial"] = "J1002ABC";
  files["/sys/class/dmi/id/product_name"] = "Box 9";
  std::string config(0x110, '\0');
  config[0x100] = 3, config[0x102] = 1;  // the serial number, alone
  config.replace(0x104, 8, "\x56\x34\x12\xff\xfe\xef\xec\x3c");
  files["/sys/bus/pci/devices/0000:3b:00.0/config"] = config;
  recording.folders["/sys/class/net"] = {"enx3cecef123456", "ib0"};
  recording.links["/sys/class/net/enx3cecef123456/device"] = "/sys/devices/pci0000:3a/0000:3b:00.0";
  recording.answers["fabric"] = fixture("fabric.ibnetdiscover");
  recording.answers["hwloc"] =
      R"(<topology version="2.0"><object type="Machine" cpuset="0x00000003">
  <info name="HostName" value="node1.cluster.example"/><info name="LinuxCgroup" value="/user/alice"/>
  <object type="OSDev" name="nvml0"><info name="NVIDIASerial" value="0321019030775"/>
  <info name="NVIDIAUUID" value="GPU-d3977428-7a30-086b-2e20-5c1eeed647c6"/></object>
  <object type="OSDev" name="enx3cecef123456"><info name="Address" value="3c:ec:ef:12:34:56"/></object>
  <object type="OSDev" name="mlx5_0"><info name="NodeGUID" value="0c42:a103:004e:6fd6"/></object></object></topology>)";
  recording.answers["nvml"] =
      R"({"driver": "535.104.05", "gpus": [{"index": 0, "uuid": "GPU-d3977428-7a30-086b-2e20-5c1eeed647c6",
          "serial": "0321019030775", "pci": "0000:40:00.0", "vbios": "96.00.5E.00"}]})";
  recording.answers["verbs"] = R"({"devices": [{"name": "mlx5_0", "node_guid": "0x0c42a103004e6fd6",
          "sys_image_guid": "0c42a103004e6fd6", "firmware": "20.31.10.14"}]})";
  recording.answers["ethtool"] =
      R"({"enx3cecef123456": {"permanent_address": "3c:ec:ef:12:34:56", "speed_Mbps": 1000}})";
  recording.answers["system"] =
      R"({"uname": {"nodename": "node1.cluster.example", "release": "6.1.0"}, "memlock": 65536})";
  recording.errors["/sys/class/net/enx3cecef123456/speed"] = {Cause::unavailable, "node1: 10.9.8.7 said no",
                                                              "", ""};
  recording.later_files["/sys/class/net/enx3cecef123456/statistics/rx_bytes"] = "17";
  return recording;
}

// All that a reader of the file would see, binary parts in clear.
std::string everything(const Recording& recording) {
  std::string all = recording.node + "\n";
  for (const auto* texts :
       {&recording.files, &recording.later_files, &recording.answers, &recording.later_answers})
    for (const auto& [key, text] : *texts) all += key + "\n" + text + "\n";
  for (const auto& [path, names] : recording.folders) {
    all += path + "\n";
    for (const auto& name : names) all += name + "\n";
  }
  for (const auto& [from, to] : recording.links) all += from + " " + to + "\n";
  for (const auto& [key, error] : recording.errors)
    all += key + error.what + error.where.text() + error.next + "\n";
  return all;
}

TEST(Redact, NothingSurvives) {
  Recording recording = realistic();
  redact(recording, "salt");
  const std::string all = everything(recording);
  for (const char* secret : {"node1",
                             "node2",
                             "cluster.example",
                             "leaf1",
                             "alice",
                             "0c42:a103",
                             "c42a103004e6fd6",
                             "c42a103004e6fda",
                             "b83fd20300a1b2c0",
                             "b83fd20300d4e5f0",
                             "b83fd20300a1b2c8",
                             "0c:42:a1:03",
                             "3c:ec:ef",
                             "3cecef123456",
                             "10.9.8.7",
                             "0a09:0807",
                             "J1002ABC",
                             "0321019030775",
                             "d3977428",
                             "5c1eeed647c6",
                             "0b2c6d4e",
                             "444455556666",
                             "\x56\x34\x12\xff"})
    EXPECT_THAT(all, Not(HasSubstr(secret)));
}

TEST(Redact, FactsStay) {
  Recording recording = realistic();
  redact(recording, "salt");
  EXPECT_EQ(recording.files["/sys/class/infiniband/mlx5_0/fw_ver"], "20.31.1014.2");
  EXPECT_EQ(recording.files["/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data"],
            "1234567890123456");
  EXPECT_EQ(recording.files["/sys/class/dmi/id/product_name"], "Box 9");
  EXPECT_EQ(recording.files["/proc/cmdline"], "iommu=pt");
  EXPECT_THAT(recording.files["/sys/class/infiniband/mlx5_0/node_desc"],
              testing::MatchesRegex("host-[0-9a-f]{8} mlx5_0"));
  const auto nvml = nlohmann::json::parse(recording.answers["nvml"]);
  EXPECT_EQ(nvml["driver"], "535.104.05");
  EXPECT_EQ(nvml["gpus"][0]["vbios"], "96.00.5E.00");
  EXPECT_EQ(nvml["gpus"][0]["pci"], "0000:40:00.0");
  EXPECT_EQ(nlohmann::json::parse(recording.answers["verbs"])["devices"][0]["firmware"], "20.31.10.14");
  EXPECT_EQ(nlohmann::json::parse(recording.answers["system"])["memlock"], 65536);
  EXPECT_THAT(recording.answers["hwloc"], HasSubstr("cpuset=\"0x00000003\""));
  EXPECT_EQ(recording.links.begin()->second, "/sys/devices/pci0000:3a/0000:3b:00.0");
}

TEST(Redact, JoinsStay) {
  Recording recording = realistic();
  redact(recording, "salt");
  // The node's GUID is the fabric's, in every form that it is written in.
  std::string guid = recording.files["/sys/class/infiniband/mlx5_0/node_guid"];
  const std::string gid = recording.files["/sys/class/infiniband/mlx5_0/ports/1/gids/0"];
  EXPECT_EQ(gid, "fe80:0000:0000:0000:" + guid);
  EXPECT_THAT(recording.answers["hwloc"], HasSubstr("\"" + guid + "\""));
  std::erase(guid, ':');
  const Fabric before = value(formats::read_ibnetdiscover(realistic().answers["fabric"]));
  const Fabric after = value(formats::read_ibnetdiscover(recording.answers["fabric"]));
  EXPECT_EQ(after.hosts.at(0).guid, guid);
  EXPECT_EQ(after.hosts.at(0).port_guid, guid);
  EXPECT_TRUE(after.hosts.at(2).aggregation);
  EXPECT_EQ(after.links.size(), before.links.size());
  EXPECT_EQ(after.switches.size(), before.switches.size());
  EXPECT_EQ(after.hosts.at(0).name, recording.files["/sys/class/infiniband/mlx5_0/node_desc"]);
  EXPECT_THAT(recording.answers["verbs"], HasSubstr("0x" + guid));
  // So are the MAC, in names and addresses, the UUID and the serial number.
  const std::string name = recording.folders["/sys/class/net"].at(0);
  EXPECT_THAT(name, testing::MatchesRegex("enx[0-9a-f]{12}"));
  ASSERT_TRUE(recording.files.contains("/sys/class/net/" + name + "/address"));
  std::string mac = recording.files["/sys/class/net/" + name + "/address"];
  EXPECT_THAT(recording.answers["ethtool"], HasSubstr(mac));
  EXPECT_TRUE(recording.later_files.contains("/sys/class/net/" + name + "/statistics/rx_bytes"));
  std::erase(mac, ':');
  EXPECT_EQ(name, "enx" + mac);
  const auto gpu = nlohmann::json::parse(recording.answers["nvml"])["gpus"][0];
  EXPECT_THAT(recording.answers["hwloc"], HasSubstr(gpu["uuid"].get<std::string>()));
  EXPECT_THAT(recording.answers["hwloc"], HasSubstr(gpu["serial"].get<std::string>()));
  EXPECT_EQ(value(formats::read_hwloc_xml(recording.answers["hwloc"], "x")).name.substr(0, 5), "host-");
}

TEST(Redact, SaltTellsSitesApart) {
  Recording here = realistic(), again = realistic(), there = realistic();
  redact(here, "here");
  redact(again, "here");
  redact(there, "there");
  EXPECT_EQ(here, again);
  EXPECT_NE(here.node, there.node);
  EXPECT_NE(here.files["/sys/class/infiniband/mlx5_0/node_guid"],
            there.files["/sys/class/infiniband/mlx5_0/node_guid"]);
}

}  // namespace
}  // namespace ringtrue::probe
