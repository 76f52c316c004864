// A rank's side of a channel in tests: what it was told.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "run/trace.h"
#include "transport/transport.h"

namespace ringtrue::test {

class Post : public transport::Owner {
 public:
  void post_done(std::uint64_t token) override {
    EXPECT_TRUE(done.insert(token).second) << "done twice: " << token;
  }
  void failed(Error error) override {
    ++failures;
    if (!failure) failure = std::move(error);
  }
  std::int64_t now() const override { return now_ns(); }
  void record(const run::Event& event) override { events.push_back(event); }
  bool wants_events() const override { return true; }

  std::set<std::uint64_t> done;
  std::optional<Error> failure;
  int failures = 0;
  std::vector<run::Event> events;
};

}  // namespace ringtrue::test
