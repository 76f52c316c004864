// Datagrams on loopback: two or three ranks, each a process of its own as far as the transport can tell.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "tests/support/adder.h"
#include "transport/udp/transport.h"

namespace ringtrue::transport::udp {
namespace {

using collective::PacketPart;
using collective::Placed;

std::span<const std::byte> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// A datagram as it lies on the wire.
std::vector<std::byte> wire(Tagger& tagger, Head head, const std::string& header,
                            const std::string& payload) {
  head.header = std::uint16_t(header.size());
  head.payload = std::uint16_t(payload.size());
  const auto start = encode(head);
  std::vector<std::byte> all(start.begin(), start.end());
  for (const auto part : {bytes_of(header), bytes_of(payload)})
    all.insert(all.end(), part.begin(), part.end());
  const Tag tag = tagger.tag(all);
  all.insert(all.end(), tag.begin(), tag.end());
  return all;
}

TEST(Datagram, ReadsWhatItWrites) {
  Tagger tagger("secret");
  const Head head{7, 3, 4, 1'000'000, 5, 3};
  const auto datagram = wire(tagger, head, "HEADR", "pay");
  EXPECT_EQ(datagram.size(), framing_bytes + 8);
  const auto read = decode(datagram);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, head);
  EXPECT_TRUE(tagger.proves(datagram));
}

TEST(Datagram, EveryByteCounts) {
  Tagger tagger("secret");
  const auto datagram = wire(tagger, {1, 0, 1, 0, 0, 0}, "head", "payload");
  for (std::size_t i = 0; i < datagram.size(); ++i) {
    auto other = datagram;
    other[i] ^= std::byte{1};
    EXPECT_FALSE(decode(other) && tagger.proves(other)) << i;
    EXPECT_FALSE(decode(std::span(datagram).first(i))) << i;
  }
  auto longer = datagram;
  longer.push_back({});
  EXPECT_FALSE(decode(longer));
  EXPECT_FALSE(Tagger("another secret").proves(datagram));
}

// What somebody has recorded in one run of a lease counts in no other.
TEST(Datagram, IsSignedForItsRunAlone) {
  Tagger first("secret", 1), second("secret", 2);
  const auto datagram = wire(first, {1, 0, 1, 0, 0, 0}, "head", "payload");
  EXPECT_TRUE(first.proves(datagram));
  EXPECT_FALSE(second.proves(datagram));
  EXPECT_FALSE(Tagger("secret").proves(datagram));
  EXPECT_TRUE(Tagger("secret", 1).proves(datagram));
}

TEST(Datagram, TheTagIsTheFirstHalfOfAnHmac) {
  // HMAC-SHA256 under HMAC-SHA256("secret", "ringtrue datagram 2, run 0"), worked out elsewhere.
  Tagger one("secret"), two("secret");
  const std::string text = "so many bytes";
  const Tag tag = one.tag(bytes_of(text));
  std::string hex;
  for (const std::byte b : tag) hex += fmt::format("{:02x}", std::to_integer<int>(b));
  EXPECT_EQ(hex, "e56299acc452514c3db6b057a6bef0c8");
  EXPECT_EQ(tag, two.tag(bytes_of(text)));
  EXPECT_EQ(tag, one.tag(bytes_of(text))) << "the context was not wound back";
}

using test::Adder;

constexpr std::uint64_t longest = 1400;

// Keeps the headers that arrive; their payloads go to `into`, in order.
class Program final : public collective::PacketReceiver {
 public:
  bool listening() const override { return listens; }
  std::uint32_t call() const override { return calls; }
  Placed place(Rank from, std::span<const std::byte> header, std::vector<PacketPart>& parts) override {
    EXPECT_TRUE(parts.empty());
    placed_from = from;
    const std::string text(reinterpret_cast<const char*>(header.data()), header.size());
    if (text == refused) return Placed::dropped;
    parts = into;
    return Placed::accepted;
  }
  void arrived(Rank from, std::span<const std::byte> header) override {
    EXPECT_EQ(from, placed_from);
    headers.emplace_back(reinterpret_cast<const char*>(header.data()), header.size());
  }
  Rank waiting_for() const override { return -1; }
  std::byte* address(const collective::Slice& slice) const override { return memory + slice.offset; }
  void expect(std::uint32_t, std::uint32_t messages) override { expected += messages; }
  void sent(std::uint32_t token) override { tokens.push_back(token); }
  std::string describe(Rank) const override { return {}; }
  void failed(Error error) override {
    if (!failure) failure = std::move(error);
  }

  bool listens = false;
  std::uint32_t calls = 0;
  Rank placed_from = -1;
  std::string refused;
  std::byte* memory = nullptr;
  std::vector<PacketPart> into;
  std::vector<std::string> headers;
  std::vector<std::uint32_t> tokens;
  std::uint32_t expected = 0;
  std::optional<Error> failure;
};

class Udp : public testing::Test {
 protected:
  std::uint64_t run_number = 0;
  void begin(const std::string& faults = "", std::uint64_t max_packet = longest) {
    const auto script = collective::parse_faults(faults);
    ASSERT_TRUE(script) << script.error().text();
    for (const Rank r : {0, 1})
      if (!ends[r]) ends[r] = make_end("secret");
    for (const Rank r : {0, 1}) {
      ends[r]->begin_run(*script, max_packet, run_number);
      const auto opened = ends[r]->open({r, &program[r], &adder, nullptr}, 1 - r,
                                        {"127.0.0.1", ports[1 - r], "node" + std::to_string(1 - r)});
      ASSERT_TRUE(opened) << opened.error().text();
    }
  }
  void begin_call(Rank r) {
    program[r].listens = true;
    ++program[r].calls;
    ends[r]->listen(r, 1 - r);
  }
  void begin_calls() {
    for (const Rank r : {0, 1}) begin_call(r);
  }
  std::unique_ptr<Transport> make_end(const std::string& secret) {
    for (int tries = 0; tries < 50; ++tries) {
      const int port = free_port();
      auto made = Transport::make({"127.0.0.1", port, secret}, *loop);
      if (!made) continue;  // somebody was faster
      ports[next_port++ % 2] = port;
      return std::move(*made);
    }
    ADD_FAILURE() << "no free port";
    return nullptr;
  }
  static int free_port() {
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(fd);
    return ntohs(address.sin_port);
  }
  void throw_at(Rank r, std::span<const std::byte> bytes) {
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(std::uint16_t(ports[r]));
    EXPECT_EQ(
        ::sendto(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&address), sizeof address),
        ssize_t(bytes.size()));
    ::close(fd);
  }
  void send(Rank r, std::uint32_t token, const std::string& header, const std::string& payload = "") {
    payloads.push_back(std::make_unique<std::string>(payload));
    const std::span<const std::byte> parts[] = {bytes_of(*payloads.back())};
    ends[r]->send(r, 1 - r, token, bytes_of(header), parts);
  }
  template <class Until>
  bool run(Until until, Seconds patience = Seconds(5)) {
    return loop->run([&] { return until() || program[0].failure || program[1].failure; },
                     Deadline::in(patience)) &&
           until();
  }
  void run_for(Seconds time) {
    run([] { return false; }, time);
  }

  std::unique_ptr<Loop> loop = *Loop::make();
  Adder adder;
  Program program[2];
  std::vector<std::unique_ptr<std::string>> payloads;
  int ports[2] = {};
  int next_port = 0;
  std::unique_ptr<Transport> ends[2];
};

TEST_F(Udp, APacketFindsItsPlaces) {
  begin();
  begin_calls();
  std::int32_t values[] = {1, 2, 3, 4, 5}, there[] = {10, 20, 30, 40, 50};
  program[1].memory = reinterpret_cast<std::byte*>(there);
  program[1].into = {{{collective::Space::data, 12, 4}, false}, {{collective::Space::data, 0, 8}, true}};
  const auto all = std::as_bytes(std::span(values));
  const std::span<const std::byte> parts[] = {all.subspan(8, 4), {}, all.first(4), all.subspan(4, 4)};
  ends[0]->send(0, 1, 42, bytes_of("header"), parts);
  ASSERT_TRUE(run([&] { return !program[1].headers.empty(); }));
  EXPECT_EQ(program[1].headers, std::vector<std::string>{"header"});
  EXPECT_EQ(program[0].tokens, std::vector<std::uint32_t>{42});
  EXPECT_EQ(program[0].expected, 1u);
  const std::vector<std::int32_t> due{11, 22, 30, 3, 50};
  EXPECT_EQ(std::vector<std::int32_t>(there, there + 5), due);
  EXPECT_EQ(ends[0]->sent(0, 1).messages, 1u);
  EXPECT_EQ(ends[0]->sent(0, 1).bytes, 18u);
  ends[0]->reset_counters(0, 1);
  EXPECT_EQ(ends[0]->sent(0, 1).messages, 0u);
}

TEST_F(Udp, ManyPacketsInBothDirectionsArriveInBatches) {
  begin();
  begin_calls();
  for (int i = 0; i < 300; ++i)
    for (const Rank r : {0, 1}) send(r, std::uint32_t(i), std::to_string(i));
  ASSERT_TRUE(run([&] { return program[0].headers.size() == 300 && program[1].headers.size() == 300; }));
  for (const Rank r : {0, 1}) {
    EXPECT_EQ(program[r].tokens.size(), 300u);
    for (int i = 0; i < 300; ++i) EXPECT_EQ(program[r].headers[std::size_t(i)], std::to_string(i));
  }
}

TEST_F(Udp, TwoRanksOfOneProcessUseItsSocket) {
  ends[0] = make_end("secret");
  ends[0]->begin_run({}, longest);
  for (const Rank r : {0, 1})
    ASSERT_TRUE(ends[0]->open({r, &program[r], &adder, nullptr}, 1 - r, {"127.0.0.1", ports[0], "here"}));
  for (const Rank r : {0, 1}) {
    program[r].listens = true;
    ++program[r].calls;
    ends[0]->listen(r, 1 - r);
  }
  for (const Rank r : {0, 1}) ends[0]->send(r, 1 - r, 1, bytes_of("to " + std::to_string(1 - r)), {});
  ASSERT_TRUE(run([&] { return program[0].headers.size() == 1 && program[1].headers.size() == 1; }));
  EXPECT_EQ(program[0].headers[0], "to 0");
  EXPECT_EQ(program[1].headers[0], "to 1");
}

TEST_F(Udp, WhatComesBeforeTheProgramIsKeptForIt) {
  begin();
  begin_call(0);
  send(0, 1, "before anybody reads");
  run_for(Seconds(0.02));
  EXPECT_TRUE(program[1].headers.empty());
  begin_call(1);
  ASSERT_TRUE(run([&] { return program[1].headers.size() == 1; }));
}

TEST_F(Udp, WhatIsOfTheNextCallIsKeptAndWhatIsOfTheLastOneIsDropped) {
  begin();
  begin_calls();
  begin_call(0);  // ... is one call ahead
  send(0, 1, "next");
  run_for(Seconds(0.02));
  EXPECT_TRUE(program[1].headers.empty());
  send(1, 1, "last");
  ASSERT_TRUE(run([&] { return ends[0]->late() == 1; }));
  EXPECT_TRUE(program[0].headers.empty());
  begin_call(1);
  ASSERT_TRUE(run([&] { return program[1].headers.size() == 1; }));
  EXPECT_EQ(program[1].headers[0], "next");
}

TEST_F(Udp, ADroppedPacketTouchesNothing) {
  begin();
  begin_calls();
  program[1].refused = "duplicate";
  send(0, 1, "duplicate", "with a payload");
  send(0, 2, "good");
  ASSERT_TRUE(run([&] { return program[1].headers.size() == 1; }));
  EXPECT_EQ(program[1].headers[0], "good");
  EXPECT_FALSE(program[1].failure);
}

TEST_F(Udp, OtherLengthsThanTheReceiverExpectsEndTheRun) {
  begin();
  begin_calls();
  std::int32_t there = 0;
  program[1].memory = reinterpret_cast<std::byte*>(&there);
  program[1].into = {{{collective::Space::data, 0, 4}, false}};
  send(0, 1, "header", "12345678");
  EXPECT_FALSE(run([] { return false; }, Seconds(1)));
  ASSERT_TRUE(program[1].failure);
  EXPECT_EQ(program[1].failure->cause, Cause::corrupted);
  EXPECT_EQ(program[1].failure->where, "node0");
}

TEST_F(Udp, StrangersAreCountedAndNothingElse) {
  begin();
  begin_calls();
  Tagger stranger("another secret"), own("secret");
  throw_at(1, bytes_of("hello?"));
  throw_at(1, wire(stranger, {1, 0, 1, 0, 0, 0}, "header", ""));
  throw_at(1, wire(own, {1, 0, 7, 0, 0, 0}, "for a rank that is not here", ""));
  throw_at(1, std::vector<std::byte>(5000));
  ASSERT_TRUE(run([&] { return ends[1]->rejected() == 4; }));
  EXPECT_TRUE(program[1].headers.empty());
  EXPECT_FALSE(program[1].failure);
  send(0, 1, "still here");
  EXPECT_TRUE(run([&] { return program[1].headers.size() == 1; }));
}

TEST_F(Udp, AScriptLosesDoublesReordersAndCorrupts) {
  begin("loss@0>1:share=10%;corrupt@0>1:share=5%;duplicate@0>1:share=10%;reorder@0>1:share=20%");
  begin_calls();
  constexpr int packets = 2000;
  for (int i = 0; i < packets; ++i) {
    send(0, std::uint32_t(i), std::to_string(i));
    if (i % 20 == 19) run_for(Seconds(0.0002));
  }
  EXPECT_EQ(program[0].tokens.size(), std::size_t(packets));
  // Corrupted ones among those that are not lost: 1800 x 5 %, +- 9, doubled ones twice.
  run_for(Seconds(0.05));
  std::vector<int> came(packets);
  int backwards = 0, last = -1;
  for (const std::string& header : program[1].headers) {
    ++came[std::size_t(std::stoi(header))];
    backwards += std::stoi(header) < last;
    last = std::stoi(header);
  }
  EXPECT_NEAR(double(ends[1]->corrupted()), 99, 50);
  EXPECT_EQ(ends[1]->rejected(), 0u);
  EXPECT_NEAR(double(std::count(came.begin(), came.end(), 0)), 290, 80);
  EXPECT_NEAR(double(std::count(came.begin(), came.end(), 2)), 171, 60);
  EXPECT_GT(backwards, 200);
  EXPECT_EQ(std::count_if(came.begin(), came.end(), [](int n) { return n > 2; }), 0);
  EXPECT_FALSE(program[1].failure);
}

TEST_F(Udp, AHeldDatagramGoesEvenIfNoneFollows) {
  begin("reorder@0>1:share=100%");
  begin_calls();
  send(0, 1, "alone");
  EXPECT_TRUE(run([&] { return program[1].headers.size() == 1; }));
}

TEST_F(Udp, DelayThrottleStallAndCut) {
  begin("delay@0>1:time=30ms");
  begin_calls();
  const std::int64_t began = now_ns();
  send(0, 1, "late");
  ASSERT_TRUE(run([&] { return program[1].headers.size() == 1; }));
  EXPECT_GE(seconds_since(began).value, 0.03);

  begin("stall@0>1:after=8");
  begin_calls();
  send(0, 1, "12345678");
  send(0, 2, "more");
  run_for(Seconds(0.02));
  EXPECT_EQ(program[1].headers.size(), 2u);
  EXPECT_EQ(program[0].tokens.back(), 2u) << "a sender of datagrams does not notice";

  begin("cut@1>0");
  begin_calls();
  send(1, 1, "x");
  ASSERT_TRUE(program[1].failure);
  EXPECT_EQ(program[1].failure->cause, Cause::peer_lost);
  EXPECT_EQ(program[1].failure->where, "node0");
}

TEST_F(Udp, EndingARunForgetsWhatWasUnderWay) {
  begin("delay@0>1:time=5ms;reorder@1>0:share=100%");
  begin_calls();
  send(0, 1, "delayed");
  send(1, 1, "held");
  for (const Rank r : {0, 1}) ends[r]->end_run();
  run_for(Seconds(0.02));
  EXPECT_TRUE(program[0].headers.empty() && program[1].headers.empty());
}

// An onlooker without the secret, who sends again what went by in an earlier run of the lease.
TEST_F(Udp, WhatWasRecordedInAnotherRunIsDropped) {
  run_number = 1;
  begin();
  run_number = 2;
  begin();
  begin_calls();
  Tagger first("secret", 1), second("secret", 2);
  const Head head{program[0].calls, 1, 0, 0, 0, 0};
  throw_at(0, wire(first, head, "recorded", ""));
  run_for(Seconds(0.05));
  EXPECT_TRUE(program[0].headers.empty());
  EXPECT_EQ(ends[0]->rejected(), 0u) << "what is late from the run before is no stranger's";
  throw_at(0, wire(second, head, "of this run", ""));
  ASSERT_TRUE(run([&] { return !program[0].headers.empty(); }));
  EXPECT_EQ(program[0].headers, std::vector<std::string>{"of this run"});
}

TEST_F(Udp, ReachTellsBothWaysOfBothLengths) {
  for (const Rank r : {0, 1}) ends[r] = make_end("secret");
  const auto begin_reach = [&](Rank r, int port) {
    const auto begun = ends[r]->begin_reach(
        {{{r, 1 - r}, {"127.0.0.1", port, "node" + std::to_string(1 - r)}}}, longest, run_number);
    ASSERT_TRUE(begun) << begun.error().text();
  };
  begin_reach(0, ports[1]);
  begin_reach(1, ports[0]);
  ASSERT_TRUE(run([&] { return ends[0]->reaches_all() && ends[1]->reaches_all(); }));
  for (const Rank r : {0, 1}) {
    const auto seen = ends[r]->end_reach();
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_TRUE(seen[0].datagrams && seen[0].called && seen[0].taken && seen[0].acknowledged &&
                seen[0].long_taken);
    EXPECT_EQ(seen[0].packet, int(longest + framing_bytes + ipv4_bytes));
    EXPECT_EQ(seen[0].address, "127.0.0.1:" + std::to_string(ports[1 - r]));
    EXPECT_TRUE(ends[r]->end_reach().empty());
  }
  run_number = 7;  // what is left of the first is of another run
  // What others sign is nothing that has come; of a port where nobody listens the kernel tells.
  ends[0] = make_end("another secret");
  begin_reach(0, ports[1]);
  begin_reach(1, free_port());
  run([&] { return ends[1]->reaches_all(); }, Seconds(0.4));
  for (const Rank r : {0, 1}) {
    const auto seen = ends[r]->end_reach();
    EXPECT_FALSE(seen[0].called || seen[0].taken || seen[0].acknowledged || seen[0].long_taken);
    EXPECT_EQ(seen[0].why, r == 0 ? "" : "Connection refused");
  }
  // A run afterwards hears of none of it.
  run_number = 8;
  begin();
  begin_calls();
  run_for(Seconds(0.05));
  EXPECT_EQ(ends[0]->rejected() + ends[1]->rejected(), 0u);
}

TEST_F(Udp, AnUnboundSocketSpeaksBothFamilies) {
  for (const char* host : {"127.0.0.1", "::1"}) {
    const int port = free_port();
    auto made = Transport::make({"", port, "secret"}, *loop);
    ASSERT_TRUE(made) << made.error().text();
    ends[0] = std::move(*made);
    ends[0]->begin_run({}, longest);
    const auto opened = ends[0]->open({0, &program[0], &adder, nullptr}, 0, {host, port, "here"});
    if (!opened && host[0] == ':') GTEST_SKIP() << "no IPv6 here: " << opened.error().text();
    ASSERT_TRUE(opened) << opened.error().text();
    program[0].listens = true;
    ++program[0].calls;
    ends[0]->listen(0, 0);
    ends[0]->send(0, 0, 1, bytes_of(host), {});
    ASSERT_TRUE(run([&] { return !program[0].headers.empty(); })) << host;
    EXPECT_EQ(program[0].headers, std::vector<std::string>{host});
    program[0].headers.clear();
    // One that was broken on its way is known by its address.
    ends[0]->begin_run(*collective::parse_faults("corrupt@*>*:share=100%"), longest);
    ASSERT_TRUE(ends[0]->open({0, &program[0], &adder, nullptr}, 0, {host, port, "here"}));
    ends[0]->listen(0, 0);
    ends[0]->send(0, 0, 1, bytes_of(host), {});
    ASSERT_TRUE(run([&] { return ends[0]->corrupted() == 1; })) << host;
    // What is longer than the path takes is refused, never cut to pieces.
    ends[0]->begin_run({}, 65'490);
    EXPECT_FALSE(ends[0]->open({0, &program[0], &adder, nullptr}, 0, {host, port, "here"}));
    // Nobody is there.
    ends[0]->begin_run({}, longest);
    ASSERT_TRUE(ends[0]->open({0, &program[0], &adder, nullptr}, 1, {host, free_port(), "there"}));
    ends[0]->listen(0, 1);
    ends[0]->send(0, 1, 1, bytes_of(host), {});
    run_for(Seconds(1));
    ASSERT_TRUE(program[0].failure) << host;
    EXPECT_EQ(program[0].failure->where, "there");
    program[0].failure.reset();
    ends[0].reset();
  }
}

TEST_F(Udp, APeerThatIsGoneIsNamed) {
  begin();
  begin_calls();
  ends[1].reset();
  send(0, 1, "anybody?");
  run_for(Seconds(1));
  ASSERT_TRUE(program[0].failure);
  EXPECT_EQ(program[0].failure->cause, Cause::peer_lost);
  EXPECT_EQ(program[0].failure->where, "node1");
}

TEST_F(Udp, ATakenPortIsUnavailable) {
  begin();
  const auto second = Transport::make({"127.0.0.1", ports[0], "secret"}, *loop);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().cause, Cause::unavailable);
}

TEST_F(Udp, APathTooNarrowIsRefused) {
  ends[0] = make_end("secret");
  ends[0]->begin_run({}, 70'000);  // loopback takes 65536
  const auto opened = ends[0]->open({0, &program[0], &adder, nullptr}, 1, {"127.0.0.1", ports[0], "node1"});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().cause, Cause::bad_input);
  EXPECT_NE(opened.error().next.find("--mtu"), std::string::npos);
  EXPECT_EQ(opened.error().where, "node1");
}

}  // namespace
}  // namespace ringtrue::transport::udp
