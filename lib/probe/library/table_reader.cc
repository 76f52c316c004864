#include "probe/library/table_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace ringtrue::probe::tables {
namespace {

class Reading {
 public:
  Reading(BlockWire& wire, std::vector<Table>& tables, const Limits& limits)
      : wire_(wire), tables_(tables), limits_(limits), states_(tables.size()) {
    end_ = wire_.now().value + limits.total.value;
    for (std::size_t at = 0; at < tables.size(); ++at) {
      Table& table = tables[at];
      table.missing = table.blocks.size();
      if (table.blocks.empty()) continue;
      table.out.assign(std::size_t(table.blocks.back() + 1) * lids_a_block, unknown_port);
      make_ready(int(at));
    }
  }

  void run() {
    for (;;) {
      ask_more();
      if (open_.empty()) break;
      const double until = std::min(end_, order_.front().until);
      auto answer = wire_.next(Seconds(std::max(0.0, until - wire_.now().value)));
      if (!answer) {
        give_up_all(answer.error().what);
        return;
      }
      if (*answer) take(**answer);
      expire();
      if (wire_.now().value >= end_) break;
    }
    for (std::size_t at = 0; at < tables_.size(); ++at)
      if (tables_[at].missing > 0 && tables_[at].why.empty())
        tables_[at].why = fmt::format("not within {:g} s for the whole fabric", limits_.total.value);
  }

 private:
  struct State {
    std::size_t next = 0;  // of its blocks
    int on_their_way = 0, silent = 0;
    bool answers = false, given_up = false, queued = false;
  };
  struct Question {
    int at = 0, block = 0;
  };
  struct Due {
    std::uint32_t question = 0;
    double until = 0;
  };

  bool may_ask(int at) const {
    const State& state = states_[std::size_t(at)];
    return !state.given_up && state.next < tables_[std::size_t(at)].blocks.size() &&
           state.on_their_way < (state.answers ? limits_.of_switch : 1);
  }

  void make_ready(int at) {
    if (states_[std::size_t(at)].queued || !may_ask(at)) return;
    states_[std::size_t(at)].queued = true;
    ready_.push_back(at);
  }

  // Switches take turns.
  void ask_more() {
    while (int(open_.size()) < limits_.at_once && !ready_.empty() && wire_.now().value < end_) {
      const int at = ready_.front();
      ready_.pop_front();
      State& state = states_[std::size_t(at)];
      state.queued = false;
      if (!may_ask(at)) continue;
      const int block = tables_[std::size_t(at)].blocks[state.next++];
      const auto question = wire_.ask(at, block);
      if (!question) {
        lost(at, question.error().what);
      } else {
        ++state.on_their_way;
        open_[*question] = {at, block};
        order_.push_back({*question, wire_.now().value + limits_.answer.value});
      }
      make_ready(at);
    }
  }

  void take(const BlockAnswer& answer) {
    const auto found = open_.find(answer.question);
    if (found == open_.end()) return;  // late, or of somebody else
    const Question question = found->second;
    open_.erase(found);
    State& state = states_[std::size_t(question.at)];
    --state.on_their_way;
    if (answer.silent) {
      lost(question.at, "no answer");
    } else if (answer.status != 0) {
      lost(question.at, fmt::format("refused with status 0x{:x}", answer.status));
    } else {
      Table& table = tables_[std::size_t(question.at)];
      std::copy(answer.ports.begin(), answer.ports.end(),
                table.out.begin() + std::ptrdiff_t(question.block) * lids_a_block);
      --table.missing;
      state.answers = true;
      state.silent = 0;
    }
    make_ready(question.at);
  }

  void expire() {
    while (!order_.empty()) {
      const Due due = order_.front();
      const auto found = open_.find(due.question);
      if (found != open_.end()) {
        if (due.until > wire_.now().value) return;
        BlockAnswer none;
        none.question = due.question;
        none.silent = true;
        take(none);
      }
      order_.pop_front();
    }
  }

  void lost(int at, const std::string& why) {
    State& state = states_[std::size_t(at)];
    if (tables_[std::size_t(at)].why.empty()) tables_[std::size_t(at)].why = why;
    if (++state.silent >= limits_.most_silent) state.given_up = true;
  }

  void give_up_all(const std::string& why) {
    for (Table& table : tables_)
      if (table.missing > 0 && table.why.empty()) table.why = why;
  }

  BlockWire& wire_;
  std::vector<Table>& tables_;
  const Limits& limits_;
  std::vector<State> states_;
  std::deque<int> ready_;
  std::unordered_map<std::uint32_t, Question> open_;
  std::deque<Due> order_;  // of asking, and so of their deadlines
  double end_ = 0;
};

}  // namespace

std::vector<int> blocks_of(const std::vector<int>& lids, int top) {
  std::vector<int> blocks;
  const int last = std::min(top, max_lid - 1) / lids_a_block;
  for (const int lid : lids) {
    const int block = lid / lids_a_block;
    if (block > last) break;
    if (blocks.empty() || blocks.back() != block) blocks.push_back(block);
  }
  return blocks;
}

void read_tables(BlockWire& wire, std::vector<Table>& tables, const Limits& limits) {
  Reading(wire, tables, limits).run();
}

void keep_only(const std::vector<int>& lids, Table& table) {
  std::vector<std::uint8_t> kept;
  for (const int lid : lids) {
    std::uint8_t port = lid > table.top                       ? no_port
                        : std::size_t(lid) < table.out.size() ? table.out[std::size_t(lid)]
                                                              : unknown_port;
    if (port == unknown_port || (port > formats::ForwardingTable::max_port && port != no_port)) continue;
    kept.resize(std::size_t(lid) + 1, unknown_port);
    kept[std::size_t(lid)] = port;
  }
  table.out = std::move(kept);
}

}  // namespace ringtrue::probe::tables
