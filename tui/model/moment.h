// What one check found, and how checks in a row become a snapshot.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tui/model/snapshot/snapshot.h"

namespace ringtrue::tui {

// What a node's sides carried: the medians of what was read of them.
struct Sides {
  Maybe send, receive;
};

struct Moment {
  double when = 0;
  std::string verdict{};
  Level level = Level::unknown;
  std::vector<std::string> nodes{};
  std::shared_ptr<const Matrix> matrix{};             // none where nothing was measured
  std::map<std::string, Sides, std::less<>> sides{};  // by node, where there is no matrix
  std::vector<FindingRow> findings{};                 // without `since`
  std::vector<CounterRow> counters{};
  std::map<std::string, std::string> silent{};  // nodes, and why
  std::set<std::string> counted{};              // nodes whose counters were read
  Maybe expected{};
  std::string text{};  // the worst finding, or that there is none
  int runs = 0;        // what it cost
  double seconds = 0, bytes = 0;
};
using Moments = std::vector<std::shared_ptr<const Moment>>;  // in the order of time

Sides sides_of(const Matrix& matrix, std::size_t node);

// Reads the moments once, and shows any of them.
class Timeline {
 public:
  explicit Timeline(Moments moments, const std::vector<History::Mark>& marks = {});

  bool empty() const { return moments_.empty(); }
  int size() const { return int(moments_.size()); }
  // The last session that is not later; -1: none.
  int session_at(double when) const;
  // Of a session, as of its time; -1: of the last, now.
  Snapshot snapshot(int session, double now) const;

 private:
  using SidesByNode = std::map<std::string, Sides, std::less<>>;
  std::vector<NodeRow> nodes_of(std::size_t session) const;
  std::shared_ptr<const Matrix> with_baseline(std::size_t session) const;
  Maybe since(std::size_t session, const FindingRow& finding) const;

  Moments moments_;
  std::vector<SidesByNode> sides_;  // by session
  std::shared_ptr<const History> history_;
};

}  // namespace ringtrue::tui
