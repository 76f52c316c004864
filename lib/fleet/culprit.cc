#include "fleet/culprit.h"

#include <algorithm>
#include <map>
#include <optional>

namespace ringtrue::fleet {
namespace {

using Kind = Answer::Kind;

constexpr const char* too_long = "if it was only too much for the time, raise --deadline or make it smaller";

struct Case {
  const std::vector<Answer>& answers;
  std::map<std::string, int> index;         // node -> place in answers
  std::vector<std::optional<int>> accused;  // by place: whom a witness accuses
  std::vector<bool> culprit;

  explicit Case(const std::vector<Answer>& a) : answers(a), accused(a.size()), culprit(a.size(), false) {
    for (std::size_t i = 0; i < a.size(); ++i) index.emplace(a[i].node, int(i));
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto other = index.find(a[i].error.where.node);
      const bool names_another = other != index.end() && other->second != int(i);
      if (a[i].kind == Kind::error && names_another) accused[i] = other->second;
      // Stopped while it waited for a node that does not even answer that it stops.
      if (a[i].kind == Kind::stopped && a[i].error.cause == Cause::cancelled && names_another &&
          unanswering(a[std::size_t(other->second)])) {
        accused[i] = other->second;
      }
      culprit[i] = a[i].kind == Kind::silent || a[i].kind == Kind::gone ||
                   (a[i].kind == Kind::error && !names_another);
    }
  }

  static bool unanswering(const Answer& answer) {
    return answer.kind == Kind::stopped && answer.error.cause != Cause::cancelled;
  }

  // Whether the accusations that begin at `witness` lead to a culprit.
  bool explained(int witness) const {
    int at = witness;
    for (std::size_t steps = 0; steps <= answers.size(); ++steps) {
      if (culprit[std::size_t(at)]) return true;
      if (!accused[std::size_t(at)]) return false;
      at = *accused[std::size_t(at)];
    }
    return false;  // a circle
  }

  // Where the accusations that begin at `witness` lead, if that is a node that had not done its part either
  // and blames nobody.
  std::optional<int> end_of_chain(int witness) const {
    int at = witness;
    for (std::size_t steps = 0; steps <= answers.size() && accused[std::size_t(at)]; ++steps)
      at = *accused[std::size_t(at)];
    const bool ends = !accused[std::size_t(at)] && answers[std::size_t(at)].kind == Kind::stopped;
    return ends ? std::optional(at) : std::nullopt;
  }

  // Of the accusations that lead to no culprit yet: the node that they weigh on most. Nullopt where there are
  // none, or where all only waited and all are waited for alike.
  std::optional<int> most_accused() const {
    struct Weight {
      int lost = 0;
      int waited = 0;
      bool blames_nobody = false;
      double first = 0;
    };
    std::map<int, Weight> weights;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!accused[i] || explained(int(i))) continue;
      if (const auto end = end_of_chain(int(i))) return end;
      auto [w, fresh] = weights.try_emplace(*accused[i]);
      const bool lost = answers[i].error.cause != Cause::deadline;
      (lost ? w->second.lost : w->second.waited) += 1;
      w->second.blames_nobody = !accused[std::size_t(*accused[i])];
      w->second.first = fresh ? answers[i].at : std::min(w->second.first, answers[i].at);
    }
    const auto worst = std::max_element(weights.begin(), weights.end(), [](const auto& a, const auto& b) {
      if (a.second.lost != b.second.lost) return a.second.lost < b.second.lost;
      if (a.second.waited != b.second.waited) return a.second.waited < b.second.waited;
      if (a.second.blames_nobody != b.second.blames_nobody) return b.second.blames_nobody;
      return a.second.first > b.second.first;
    });
    if (worst == weights.end()) return std::nullopt;
    const bool alike = std::all_of(weights.begin(), weights.end(), [&](const auto& w) {
      return w.second.lost == 0 && w.second.waited == worst->second.waited && !w.second.blames_nobody;
    });
    return alike && weights.size() > 1 ? std::nullopt : std::optional(worst->first);
  }

  // Why a node is the culprit that has not said so itself. Somebody accuses it.
  Error accusation(int node) const {
    const Answer* first = nullptr;
    int witnesses = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (accused[i] != node) continue;
      ++witnesses;
      if (!first || answers[i].at < first->at) first = &answers[i];
    }
    Error error = first->error;
    error.what = "accused by " + first->node + ": " + first->error.what;
    if (error.next.empty() && error.cause == Cause::deadline) error.next = too_long;
    if (witnesses > 1) error.what += " (and by " + std::to_string(witnesses - 1) + " more)";
    return error;
  }
};

}  // namespace

std::vector<Failure> find_culprits(Phase phase, const std::vector<Answer>& answers) {
  Case c(answers);
  std::vector<Failure> culprits, witnesses;
  std::map<int, Error> accusations;
  while (const auto worst = c.most_accused()) {
    accusations[*worst] = c.accusation(*worst);
    c.culprit[std::size_t(*worst)] = true;
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Answer& answer = answers[i];
    if (const auto said = accusations.find(int(i)); said != accusations.end())
      culprits.push_back({answer.node, phase, said->second, true});
    else if (c.culprit[i])
      culprits.push_back({answer.node, phase, answer.error, true});
    else if (c.accused[i])
      witnesses.push_back({answer.node, phase, answer.error, false});
  }
  if (culprits.empty() && !witnesses.empty()) {
    const Failure& first = witnesses.front();
    culprits.push_back(
        {"",
         phase,
         {Cause::deadline,
          "no node stands out, each waited for another; " + first.node + ": " + first.error.what, "",
          too_long},
         true});
  }
  culprits.insert(culprits.end(), witnesses.begin(), witnesses.end());
  return culprits;
}

}  // namespace ringtrue::fleet
