#include "transport/verbs/errors.h"

#include <gtest/gtest.h>

namespace ringtrue::transport::verbs {
namespace {

const Hop hop{.self = 2, .peer = 3, .lane = 0, .peer_node = "node3"};

Error completed(int status, std::uint32_t vendor_error = 0x81) {
  Completion completion;
  completion.status = status;
  completion.vendor_error = vendor_error;
  return completion_error("node2", {hop, {"mlx5_0", 1}, "mlx5_3:1"}, completion);
}

TEST(VerbsErrors, NamesNodeDevicePortPeerAndVendorCode) {
  const Error gone = completed(12);
  EXPECT_EQ(gone.what,
            "rank 2 on node2 lost rank 3 on node3, from mlx5_0:1 to node3's mlx5_3:1: transport retry "
            "counter exceeded "
            "(vendor error 0x81)");
  EXPECT_EQ(gone.where, "node3");
  EXPECT_EQ(gone.cause, Cause::peer_lost);
  for (const char* usual : {"peer is gone", "GID", "P_Key", "MTU", "route"})
    EXPECT_NE(gone.next.find(usual), std::string::npos) << usual;
}

TEST(VerbsErrors, TellsTheUsualCauseOfEachStatus) {
  struct Case {
    int status;
    const char* text;
    Cause cause;
    const char* where;
    const char* usual;  // in what to do next
  };
  const Case cases[] = {
      {1, "local length error", Cause::internal, "node2", "MTU"},
      {2, "local QP operation error", Cause::internal, "node2", "report"},
      {3, "local EE context operation error", Cause::internal, "node2", "report"},
      {4, "local protection error", Cause::internal, "node2", "not registered"},
      {5, "work request flushed error", Cause::cancelled, "node2", "earlier error"},
      {6, "memory management operation error", Cause::internal, "node2", "report"},
      {7, "bad response error", Cause::corrupted, "node3", "cable"},
      {8, "local access error", Cause::internal, "node2", "report"},
      {9, "remote invalid request error", Cause::corrupted, "node3", "MTU"},
      {10, "remote access error", Cause::corrupted, "node3", "not registered"},
      {11, "remote operation error", Cause::peer_lost, "node3", "dmesg"},
      {12, "transport retry counter exceeded", Cause::peer_lost, "node3", "gone"},
      {13, "RNR retry counter exceeded", Cause::peer_lost, "node3", "no receives"},
      {14, "local RDD violation error", Cause::internal, "node2", "report"},
      {15, "remote invalid RD request", Cause::corrupted, "node3", "report"},
      {16, "aborted error", Cause::peer_lost, "node3", "dmesg"},
      {17, "invalid EE context number", Cause::internal, "node2", "report"},
      {18, "invalid EE context state", Cause::internal, "node2", "report"},
      {19, "fatal error", Cause::unavailable, "node2", "dmesg"},
      {20, "response timeout error", Cause::peer_lost, "node3", "path"},
      {21, "general error", Cause::unavailable, "node2", "dmesg"},
      {22, "tag matching error", Cause::internal, "node2", "report"},
      {23, "tag matching rendezvous incomplete", Cause::internal, "node2", "report"},
      {99, "status 99", Cause::peer_lost, "node3", "dmesg"},
  };
  for (const Case& each : cases) {
    const Error error = completed(each.status);
    EXPECT_EQ(status_text(each.status), each.text);
    EXPECT_NE(error.what.find(std::string(": ") + each.text + " (vendor error 0x81)"), std::string::npos)
        << error.what;
    EXPECT_EQ(error.cause, each.cause) << each.status;
    EXPECT_EQ(error.where, each.where) << each.status;
    EXPECT_NE(error.next.find(each.usual), std::string::npos) << each.status << ": " << error.next;
  }
  EXPECT_EQ(status_text(0), "success");
  EXPECT_EQ(status_text(-1), "status -1");
}

TEST(VerbsErrors, EventsEndTheRunWhereTheyMeanHarm) {
  const auto down = event_error("node2", "mlx5_0", {Event::Kind::port_down, 1, 0, "port error"});
  ASSERT_TRUE(down);
  EXPECT_EQ(down->what, "port 1 of mlx5_0 went down during the run");
  EXPECT_EQ(down->where, "node2");
  EXPECT_FALSE(down->next.empty());
  const auto fatal =
      event_error("node2", "mlx5_0", {Event::Kind::device_fatal, 0, 0, "local catastrophic error"});
  ASSERT_TRUE(fatal);
  EXPECT_EQ(fatal->text().substr(0, 67),
            "node2: mlx5_0 failed during the run: local catastrophic error; see ");
  const auto broken = event_error("node2", "mlx5_0", {Event::Kind::queue_broken, 0, 5, "CQ error"});
  ASSERT_TRUE(broken);
  EXPECT_EQ(broken->what, "a queue of mlx5_0 broke during the run: CQ error");
  const Ends ends{hop, {"mlx5_0", 1}, "mlx5_3:1"};
  const auto pair = event_error("node2", "mlx5_0", {Event::Kind::queue_broken, 0, 5, "QP error"}, ends);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->what,
            "the queue pair of rank 2 on node2 to rank 3 on node3 broke, from mlx5_0:1 to node3's mlx5_3:1: "
            "QP error");
  EXPECT_EQ(pair->where, "node2");
  const auto asked = event_error("node2", "mlx5_0", {Event::Kind::bad_request, 0, 5, "access error"}, ends);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->what,
            "rank 2 on node2 was sent a request by rank 3 on node3 that its adapter refused, on mlx5_0:1 to "
            "node3's "
            "mlx5_3:1: access error");
  EXPECT_EQ(asked->where, "node3") << "not the victim";
  EXPECT_FALSE(event_error("node2", "mlx5_0", {Event::Kind::port_up, 1, 0, "port active"}));
  EXPECT_FALSE(event_error("node2", "mlx5_0", {Event::Kind::other, 1, 0, "LID change"}));
}

TEST(VerbsErrors, ExplainsALimitOfLockedMemory) {
  const Error error = cannot_pin("mlx5_0", 512 << 20, 64 << 10);
  EXPECT_EQ(error.cause, Cause::refused);
  EXPECT_EQ(error.what, "cannot pin 512 MiB of memory on mlx5_0: the limit of locked memory is 64 KiB");
  EXPECT_EQ(
      error.next,
      "raise memlock (ulimit -l unlimited; LimitMEMLOCK=infinity for ringtrued; /etc/security/limits.d)");
  EXPECT_EQ(cannot_pin("a", 1536ull << 20, 0).what,
            "cannot pin 1.5 GiB of memory on a: the limit of locked memory is 0 B");
}

}  // namespace
}  // namespace ringtrue::transport::verbs
