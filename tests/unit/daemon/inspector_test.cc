#include "daemon/inspector.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>

#include "base/clock.h"
#include "daemon/client_limits.h"
#include "probe/recording.h"

namespace ringtrue::daemon {
namespace {

// A node that is read when the test lets it.
class SlowNode {
 public:
  Result<probe::Recording> read(const Inspector::Request& request, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    ++readings_;
    changed_.notify_all();
    changed_.wait_for(lock, stop, std::chrono::seconds(20), [&] { return allowed_ > 0; });
    if (stop.stop_requested()) {
      ++stopped_;
      changed_.notify_all();
      return fail(Cause::cancelled, "stopped");
    }
    --allowed_;
    if (fails) return fail(Cause::unavailable, "no probe");
    probe::Recording recording;
    recording.node = "node0";
    recording.window_s = request.window.value;
    return recording;
  }
  void let(int readings) {
    const std::lock_guard lock(mutex_);
    allowed_ += readings;
    changed_.notify_all();
  }
  bool reading(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return readings_ >= count; });
  }
  int readings() {
    const std::lock_guard lock(mutex_);
    return readings_;
  }
  int stopped() {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }
  bool stop_seen() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return stopped_ > 0; });
  }
  std::atomic<bool> fails = false;

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int readings_ = 0, allowed_ = 0, stopped_ = 0;
};

class InspectorTest : public testing::Test {
 protected:
  std::future<Inspector::Answer> ask(const Inspector::Request& request, const std::string& who = "alice") {
    auto promise = std::make_shared<std::promise<Inspector::Answer>>();
    ticket_ = inspector_.ask(request, who,
                             [promise](const Inspector::Answer& answer) { promise->set_value(answer); });
    return promise->get_future();
  }
  static bool over(std::future<Inspector::Answer>& answer) {
    return answer.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  }

  Inspector::Ticket ticket_ = 0;  // the last one
  SlowNode node_;
  Inspector inspector_{[this](const Inspector::Request& request, const std::stop_token& stop) {
    return node_.read(request, stop);
  }};
};

TEST_F(InspectorTest, SharesOneReadingAmongThoseWhoAskAlike) {
  auto first = ask({Seconds(1), false});
  ASSERT_TRUE(node_.reading(1));
  auto second = ask({Seconds(1), false}), other = ask({Seconds(2), false});
  node_.let(2);
  ASSERT_TRUE(over(first) && over(second) && over(other));
  const auto a = first.get(), b = second.get(), c = other.get();
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(*a, *b);
  EXPECT_EQ(probe::read_recording(*a)->window_s, 1);
  EXPECT_EQ(probe::read_recording(*c)->window_s, 2);
  EXPECT_EQ(node_.readings(), 2);
}

TEST_F(InspectorTest, TellsARecordingThatCanBePlayed) {
  node_.let(1);
  auto answer = ask({Seconds(0), false});
  ASSERT_TRUE(over(answer));
  const auto bytes = answer.get();
  ASSERT_TRUE(bytes);
  const auto cluster = probe::read_any(*bytes, "answer");
  ASSERT_TRUE(cluster) << cluster.error().text();
  EXPECT_EQ(cluster->nodes.at(0).name, "node0");
}

TEST_F(InspectorTest, TellsWhyTheNodeCannotBeRead) {
  node_.fails = true;
  node_.let(1);
  auto answer = ask({});
  ASSERT_TRUE(over(answer));
  EXPECT_EQ(answer.get().error().what, "no probe");
}

TEST_F(InspectorTest, LetsNobodyWaitForTheWindowOfAnother) {
  auto slow = ask({Seconds(60), false});
  ASSERT_TRUE(node_.reading(1));
  auto quick = ask({Seconds(0), false});
  ASSERT_TRUE(node_.reading(2));
  node_.let(2);
  ASSERT_TRUE(over(quick) && over(slow));
}

TEST_F(InspectorTest, RefusesWhatIsTooMuch) {
  std::vector<std::future<Inspector::Answer>> answers;
  for (int i = 1; i < 20; ++i) answers.push_back(ask({Seconds(i), false}, std::to_string(i)));
  auto last = std::move(answers.back());
  ASSERT_TRUE(over(last));
  EXPECT_EQ(last.get().error().cause, Cause::refused);
}

TEST_F(InspectorTest, RefusesWhatIsTooMuchOfOne) {
  std::vector<std::future<Inspector::Answer>> mine;
  for (int i = 1; i <= max_inspections_of_identity + 1; ++i)
    mine.push_back(ask({Seconds(i), false}, "mallory"));
  ASSERT_TRUE(over(mine.back()));
  const auto refused = mine.back().get();
  EXPECT_EQ(refused.error().cause, Cause::refused);
  EXPECT_NE(refused.error().what.find("mallory waits for 4 readings"), std::string::npos)
      << refused.error().what;
  // Others go on.
  auto others = ask({Seconds(0), false}, "alice");
  ASSERT_TRUE(node_.reading(max_inspections_of_identity + 1));
  node_.let(max_inspections_of_identity + 1);
  ASSERT_TRUE(over(others));
  EXPECT_TRUE(others.get());
}

TEST_F(InspectorTest, RefusesWhoAsksWithoutEnd) {
  node_.let(1000);
  int served = 0;
  for (; served < 300; ++served) {
    auto answer = ask({Seconds(0), false}, "mallory");
    ASSERT_TRUE(over(answer));
    if (const auto told = answer.get(); !told) {
      EXPECT_EQ(told.error().what, "mallory asks too often what is in this node");
      break;
    }
  }
  EXPECT_GE(served, max_inspections_in_a_row);
  EXPECT_LT(served, 300);
  auto others = ask({Seconds(0), false}, "alice");
  ASSERT_TRUE(over(others));
  EXPECT_TRUE(others.get());
}

TEST_F(InspectorTest, EndsAReadingThatNobodyWaitsFor) {
  auto first = ask({Seconds(9), false}, "alice");
  const Inspector::Ticket one = ticket_;
  auto second = ask({Seconds(9), false}, "bob");
  ASSERT_TRUE(node_.reading(1));
  inspector_.leave(one);
  ASSERT_TRUE(over(first));
  EXPECT_EQ(first.get().error().cause, Cause::cancelled);
  EXPECT_EQ(node_.stopped(), 0);  // bob waits
  inspector_.leave(ticket_);
  ASSERT_TRUE(over(second));
  EXPECT_TRUE(node_.reading(1) && node_.stop_seen());
  inspector_.leave(ticket_);  // gone: nothing happens
  // Who asks for the same afterwards gets a reading of his own.
  auto third = ask({Seconds(9), false}, "carol");
  ASSERT_TRUE(node_.reading(2));
  node_.let(1);
  ASSERT_TRUE(over(third));
  EXPECT_TRUE(third.get());
}

TEST_F(InspectorTest, StopsAtOnceAndTellsEverybody) {
  auto answer = ask({});
  ASSERT_TRUE(node_.reading(1));
  const std::int64_t began = now_ns();
  inspector_.stop();
  EXPECT_LT(seconds_since(began).value, 5);
  ASSERT_TRUE(over(answer));
  EXPECT_EQ(answer.get().error().cause, Cause::cancelled);
  auto late = ask({});
  ASSERT_TRUE(over(late));
  EXPECT_EQ(late.get().error().cause, Cause::cancelled);
}

}  // namespace
}  // namespace ringtrue::daemon
