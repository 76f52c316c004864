// Trials of datagrams, of which a test takes some away, between two ends whose arrivals it hands over itself.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/udp/reach.h"

namespace ringtrue::transport::udp {
namespace {

constexpr std::uint64_t longest = 1400;

struct End {
  explicit End(Loop& loop) : socket(*Socket::open("127.0.0.1", 0)), trials(socket, tagger, loop, longest) {}
  int port() const {
    sockaddr_in at{};
    socklen_t size = sizeof at;
    ::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&at), &size);
    return ntohs(at.sin_port);
  }
  void add(Ends ends, const End& peer) {
    trials.add(ends, {"127.0.0.1", peer.port(), "peer"}, *socket.resolve("127.0.0.1", peer.port()));
  }
  int lose_arrivals() {
    std::byte bytes[2048];
    int lost = 0;
    while (::recv(socket.fd(), bytes, sizeof bytes, MSG_DONTWAIT) >= 0) ++lost;
    return lost;
  }

  Socket socket;
  Tagger tagger{"secret"};
  Trials trials;
};

class DatagramTrials : public testing::Test {
 protected:
  void SetUp() override {
    first.add({0, 1}, second);
    second.add({1, 0}, first);
    first.trials.begin();
    second.trials.begin();
  }
  // As two processes, each of which is gone once all is well with it. Whether that took less than `time`.
  bool both_end(Seconds time) {
    bool ended[2] = {false, false};
    const Deadline deadline = Deadline::in(time);
    while (!(ended[0] && ended[1]) && !deadline.passed()) {
      loop->run([] { return false; }, Deadline::in(Seconds(0.002)));
      for (End* const end : {&first, &second}) {
        bool& over = ended[end == &second];
        if (over)
          end->lose_arrivals();
        else
          end->trials.take_arrivals();
        over = over || end->trials.well();
      }
    }
    return ended[0] && ended[1];
  }

  std::unique_ptr<Loop> loop = *Loop::make();
  End first{*loop}, second{*loop};
};

TEST_F(DatagramTrials, EndAtOnceWhereNothingIsLost) {
  EXPECT_TRUE(both_end(Seconds(0.1)));
}

// The first has all, and what tells the second so is lost.
TEST_F(DatagramTrials, WhoHasAllStaysUntilThePeerKnows) {
  first.trials.take_arrivals();
  EXPECT_GT(second.lose_arrivals(), 0);
  EXPECT_FALSE(first.trials.well());
  EXPECT_TRUE(both_end(Seconds(1)));
  EXPECT_TRUE(second.trials.seen()[0].long_taken && second.trials.seen()[0].acknowledged);
}

// The second is gone with the word that it knows all lost: there is nobody to wait for.
TEST_F(DatagramTrials, APeerThatIsGoneIsNotWaitedForLong) {
  while (!second.trials.well()) {
    first.trials.take_arrivals();
    second.trials.take_arrivals();
    if (second.trials.well()) first.lose_arrivals();
  }
  bool well = false;
  const auto alone = [&] { return well = well || first.trials.well(); };
  loop->run(alone, Deadline::in(Seconds(1)));
  EXPECT_TRUE(alone());
}

TEST_F(DatagramTrials, AnErrorThatStaysIsToldAndEnds) {
  const int broken = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);  // recv() fails, always
  ASSERT_EQ(::dup2(broken, first.socket.fd()), first.socket.fd());
  ::close(broken);
  first.trials.take_arrivals();
  EXPECT_EQ(first.trials.seen()[0].why, "Transport endpoint is not connected");
}

}  // namespace
}  // namespace ringtrue::transport::udp
