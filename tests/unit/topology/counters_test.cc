#include "topology/counters.h"

#include <gtest/gtest.h>

#include "probe/live.h"
#include "probe/watch.h"
#include "run/counter_window.h"
#include "tests/support/sysfs_tree.h"

namespace ringtrue::topology {
namespace {

TEST(CounterNames, NamesTellErrorsCongestionAndTrafficApart) {
  using enum CounterClass;
  for (const char* counter :
       {"symbol_error", "link_downed", "port_xmit_discards", "rnr_nak_retry_err", "local_ack_timeout_err",
        "out_of_sequence", "carrier_changes", "rx_crc_errors", "tx_carrier_errors", "roce_adp_retrans",
        "nvlink3_replay", "nvlink11_crc_flit", "ecc_uncorrected", "aer_correctable", "port_rcv_errors"})
    EXPECT_EQ(counter_class(counter), error) << counter;
  for (const char* counter : {"rx_prio3_pause", "tx_pause_ctrl_phy", "rp_cnp_handled", "np_cnp_sent",
                              "np_ecn_marked_roce_packets", "port_xmit_wait", "out_of_buffer", "rx_dropped"})
    EXPECT_EQ(counter_class(counter), congestion) << counter;
  for (const char* counter :
       {"rx_bytes", "tx_packets", "port_xmit_data", "port_rcv_packets", "unicast_rcv_packets", "multicast"})
    EXPECT_EQ(counter_class(counter), traffic) << counter;
  for (const char* counter : {"lifespan", "", "rx_read_requests"})
    EXPECT_EQ(counter_class(counter), unknown) << counter;
}

TEST(CounterNames, WhatSoftRoceCountsIsKnown) {
  using enum CounterClass;
  for (const char* counter :
       {"duplicate_request", "out_of_seq_request", "rcvd_seq_err", "completer_retry_err",
        "retry_exceeded_err", "retry_rnr_exceeded_err", "send_err", "link_downed"})
    EXPECT_EQ(counter_class(counter), error) << counter;
  for (const char* counter : {"rcvd_rnr_err", "send_rnr_err"})
    EXPECT_EQ(counter_class(counter), congestion) << counter;
  for (const char* counter : {"sent_pkts", "rcvd_pkts", "ack_deferred", "req_cqe_flush_error"})
    EXPECT_EQ(counter_class(counter), traffic) << counter;
  EXPECT_EQ(text({"rxe2/1", "rcvd_seq_err", 1, 413, false, false}),
            "rxe2 port 1: 412 sequence errors told by the receiver");
}

TEST(CounterNames, ALostPacketIsSeenAtBothEnds) {
  for (const char* counter : {"packet_seq_err", "rcvd_seq_err"})
    EXPECT_EQ(loss_seen(counter), Loss::sending) << counter;
  for (const char* counter : {"out_of_sequence", "out_of_seq_request"})
    EXPECT_EQ(loss_seen(counter), Loss::receiving) << counter;
  for (const char* counter : {"sent_pkts", "duplicate_request", "symbol_error"})
    EXPECT_EQ(loss_seen(counter), Loss::none) << counter;
}

TEST(CounterNames, ChangesAreToldInWords) {
  EXPECT_EQ(text({"mlx5_0/1", "symbol_error", 5, 417, false, false}), "mlx5_0 port 1: 412 symbol errors");
  EXPECT_EQ(text({"mlx5_0/1", "link_downed", 255, 255, true, false}),
            "mlx5_0 port 1: times that the link went down stand at the counter's end, 255");
  EXPECT_EQ(text({"mlx5_0/1", "symbol_error", 65000, 65535, true, false}),
            "mlx5_0 port 1: at least 535 symbol errors (the counter stands at its end)");
  EXPECT_EQ(text({"eth0", "carrier_changes", 9, 2, false, true}),
            "eth0: at least 2 carrier changes (the counter was reset)");
  EXPECT_EQ(text({"GPU0", "nvlink3_replay", 1, 8, false, false}), "GPU0: 7 nvlink3_replay");
}

TEST(CounterWatches, AWatchTellsWhatRosePortByPort) {
  test::SysfsTree tree;
  const std::string device = "/sys/class/infiniband/mlx5_0", counters = device + "/ports/1/counters/";
  tree.file(device + "/node_guid", "b83f:d203:0000:0000\n");
  tree.file(device + "/ports/1/state", "4: ACTIVE\n");
  tree.file(counters + "symbol_error", "5\n");
  tree.file(counters + "link_downed", "255\n");
  tree.file(counters + "port_xmit_data", "100\n");
  probe::CounterWatch watch(std::make_unique<probe::Files>(tree.root()));
  EXPECT_TRUE(watch.end().changes.empty());  // nothing was begun
  watch.begin();
  tree.file(counters + "symbol_error", "417\n");
  const run::CounterWindow window = watch.end();
  EXPECT_GT(window.seconds, 0);
  ASSERT_EQ(window.changes.size(), 2u);
  EXPECT_EQ(window.changes[0], (run::CounterChange{"mlx5_0/1", "link_downed", 255, 255, true, false}));
  EXPECT_EQ(window.changes[1], (run::CounterChange{"mlx5_0/1", "symbol_error", 5, 417, false, false}));
}

TEST(CounterWatches, AWatchLooksAtWhatCarriesDataAndAboveIt) {
  test::SysfsTree tree;
  const std::string port = tree.pci("0000:3a:00.0");
  const std::string nic =
      tree.pci("0000:3a:00.0/0000:3b:00.0", {.device_class = 0x020700, .vendor = 0x15b3, .device = 0x1021});
  const std::string disk = tree.pci("0000:5a:00.0/0000:5b:00.0", {.device_class = 0x010802});
  const auto errors = [&](int count) {
    for (const auto& device : {port, nic, disk})
      tree.file(device + "/aer_dev_correctable", fmt::format("RxErr {0}\nTOTAL_ERR_COR {0}\n", count));
  };
  errors(1);
  probe::CounterWatch watch(std::make_unique<probe::Files>(tree.root()));
  watch.begin();
  errors(4);
  const run::CounterWindow window = watch.end();
  ASSERT_EQ(window.changes.size(), 2u);
  EXPECT_EQ(window.changes[0], (run::CounterChange{"0000:3a:00.0", "aer_correctable", 1, 4, false, false}));
  EXPECT_EQ(window.changes[1].device, "0000:3b:00.0");
}

TEST(CounterNames, WhatMattersComesFirstAndIsBounded) {
  run::CounterWindow window;
  for (int i = 0; i < 10; ++i)
    window.changes.push_back({"eth" + std::to_string(i), "rx_bytes", 0, 5, false, false});
  window.changes.push_back({"mlx5_0/1", "lifespan", 0, 5, false, false});
  window.changes.push_back({"mlx5_0/1", "np_cnp_sent", 0, 5, false, false});
  window.changes.push_back({"mlx5_0/1", "symbol_error", 0, 5, false, false});
  const run::CounterWindow kept = probe::worth_keeping(window, 4);
  ASSERT_EQ(kept.changes.size(), 4u);
  EXPECT_EQ(kept.changes[0].counter, "symbol_error");
  EXPECT_EQ(kept.changes[1].counter, "np_cnp_sent");
  EXPECT_EQ(kept.changes[2].device, "eth0");
  EXPECT_EQ(probe::worth_keeping(window, 100).changes.size(), 12u);  // the lifespan is no counter of anything
}

}  // namespace
}  // namespace ringtrue::topology
