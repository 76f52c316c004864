#include "tui/model/past.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "formats/gzip.h"
#include "history/follow.h"
#include "history/store.h"
#include "tui/model/model.h"

namespace ringtrue::tui {
namespace {

constexpr std::int64_t second = 1'000'000, start = 1'790'000'000 * second;

history::Record record_at(std::int64_t at, bool slow, bool with_document) {
  history::Record r;
  r.session.fleet = "gpu-a";
  r.session.started_us = at;
  r.session.ended_us = at + 9 * second;
  r.session.verdict = slow ? "faulty" : "healthy";
  r.session.fingerprint = "tcp ring";
  r.session.nodes = 2;
  r.session.expected = 100;
  for (const char* node : {"a", "b"})
    for (const auto type : {history::SubjectType::sender, history::SubjectType::receiver})
      r.readings.push_back({{type, node, "", ""},
                            history::Metric::rate,
                            slow && *node == 'a' && type == history::SubjectType::sender ? 50.0 : 99.0,
                            1});
  if (slow)
    r.findings.push_back({{history::SubjectType::sender, "a", "", ""}, "critical", "slow-sender", 0.5, 0.9});
  if (with_document)
    r.document = formats::gzip(
        R"({"schema": "ringtrue.check/1", "verdict": "healthy", "nodes": [{"node": "a"}, {"node": "b"}],
                                   "expected": {"rate_Bps": 100}, "rate_Bps": [[null, 98], [97, null]]})");
  return r;
}

TEST(Past, SessionsAreMomentsWithAndWithoutTheirDocument) {
  char name[] = "/tmp/ringtrue-past-XXXXXX";
  const std::string folder = mkdtemp(name), file = folder + "/history.db";
  {
    auto store = history::Store::open(file, {.write = true});
    ASSERT_TRUE(store) << store.error().text();
    ASSERT_TRUE(store->add(record_at(start, false, true)));
    ASSERT_TRUE(store->add(record_at(start + 86400 * second, true, false)));
    history::Event repair;
    repair.fleet = "gpu-a";
    repair.subject = history::SubjectKey{history::SubjectType::node, "a", "", ""};
    repair.at_us = start + 90'000 * second;
    repair.kind = history::EventKind::repair;
    repair.text = "new cable";
    ASSERT_TRUE(history::add_event(*store, repair));
  }
  const auto past = read_past(file);
  ASSERT_TRUE(past) << past.error().text();
  ASSERT_EQ(past->moments.size(), 2u);
  EXPECT_TRUE(past->moments[0]->matrix);
  EXPECT_FALSE(past->moments[1]->matrix);
  ASSERT_EQ(past->marks.size(), 1u);
  EXPECT_EQ(past->marks[0].text, "repair of a: new cable");

  const auto files = open_files({{}, file, {}});
  ASSERT_TRUE(files) << files.error().text();
  const auto s = (*files)->whole(Seconds(1));
  ASSERT_EQ(s->nodes.size(), 2u);
  EXPECT_EQ(s->nodes[0].send, 50);
  EXPECT_EQ(s->nodes[0].days.back(), 0.5);
  EXPECT_EQ(s->nodes[0].days[12], 0.97);
  EXPECT_EQ(s->findings.at(0).where, "a's sending side");
  EXPECT_EQ(s->history->sessions.size(), 2u);
  EXPECT_EQ(s->source, "history.db");
  (*files)->show(0);
  EXPECT_EQ((*files)->whole(Seconds(1))->level, Level::good);
  EXPECT_FALSE(open_files({{}, folder + "/none.db", {}}));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ringtrue::tui
