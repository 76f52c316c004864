#include <fmt/format.h>
#include "report/json/json.h"

#include <algorithm>

#include "report/json/value.h"

namespace ringtrue::report {
namespace {

// What the blocks span, in bytes of the data.
Json range_of(const ops::ExplainDocument& d, const std::vector<ops::BlockIndex>& blocks) {
  const std::uint64_t bytes = d.block * d.element_bytes;
  if (blocks.empty()) return {{"space", "data"}, {"offset", 0}, {"length", 0}};
  const auto [first, last] = std::minmax_element(blocks.begin(), blocks.end());
  return {{"space", "data"}, {"offset", *first * bytes}, {"length", (*last - *first + 1) * bytes}};
}

Json step(const ops::ExplainDocument& d, const ops::ExplainRound& round, int rank, std::string_view kind,
          std::optional<int> peer, const std::vector<ops::BlockIndex>& blocks, const Json& next) {
  return {{"rank", rank},
          {"step", round.round},
          {"kind", kind},
          {"peer", maybe(peer)},
          {"lane", 0},
          {"range", range_of(d, blocks)},
          {"stream", round.stream},
          {"round", round.round},
          {"blocks", blocks},
          {"next", next}};
}

Json worker_step(const ops::ExplainDocument& d, const ops::ExplainRound& round,
                 const ops::ExplainPacket& packet) {
  std::vector<ops::BlockIndex> blocks;
  Json next = Json::array();
  for (const ops::ExplainBlock& b : packet.blocks) {
    blocks.push_back(b.block);
    next.push_back(maybe(b.next));
  }
  const std::string_view kind = !blocks.empty() ? "send" : packet.answers ? "answer" : "silent";
  return step(d, round, packet.worker, kind, round.aggregator, blocks, next);
}

Json result_step(const ops::ExplainDocument& d, const ops::ExplainRound& round) {
  std::vector<ops::BlockIndex> blocks;
  Json next = Json::array(), workers = Json::array();
  for (const ops::ExplainSum& sum : round.sums) {
    blocks.push_back(sum.block);
    next.push_back(maybe(sum.wanted));
    workers.push_back(sum.workers);
  }
  Json out = step(d, round, round.aggregator, "multicast", std::nullopt, blocks, next);
  out["workers"] = std::move(workers);
  return out;
}

}  // namespace

void write_json(const ops::ExplainDocument& d, const Write& write) {
  const Json head = {{"schema", "ringtrue.schedule/1"},
                     {"algorithm", "omnireduce"},
                     {"ranks", d.workers},
                     {"bytes", d.blocks * d.block * d.element_bytes},
                     {"steps_omitted", d.steps_omitted},
                     {"workers", d.workers},
                     {"aggregators", d.aggregators},
                     {"blocks", d.blocks},
                     {"block", d.block},
                     {"streams", d.streams},
                     {"fusion", d.fusion},
                     {"acked", d.acked},
                     {"worker_packets", d.worker_packets},
                     {"worker_blocks", d.worker_blocks},
                     {"multicasts", d.multicasts},
                     {"aggregator_packets", d.multicasts * std::uint64_t(d.workers)}};
  std::string text = head.dump(2);
  text.resize(text.size() - 2);  // without its "\n}"
  if (!write(text)) return;
  if (!d.steps_omitted) {
    Rows steps(write, ",\n  \"steps\": [");
    for (const ops::ExplainRound& round : d.rounds) {
      for (const ops::ExplainPacket& packet : round.packets) steps.add(worker_step(d, round, packet));
      if (!steps.add(result_step(d, round))) return;
    }
    steps.end();
  }
  write("\n}\n");
}

}  // namespace ringtrue::report
