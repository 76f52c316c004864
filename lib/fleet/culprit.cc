#include "fleet/culprit.h"

#include <algorithm>
#include <map>
#include <optional>

namespace ringtrue::fleet {
namespace {

using Kind = Answer::Kind;

constexpr const char* too_long = "if it was only too much for the time, raise --deadline or make it smaller";

struct Answers {
  const std::vector<Answer>& answers;
  std::map<std::string, int> index;        // node -> place in answers
  std::vector<std::optional<int>> blamed;  // by place: the other node that its error names
  std::vector<bool> culprit;

  explicit Answers(const std::vector<Answer>& a) : answers(a), blamed(a.size()), culprit(a.size(), false) {
    for (std::size_t i = 0; i < a.size(); ++i) index.emplace(a[i].node, int(i));
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto other = index.find(a[i].error.where.node);
      const bool names_another = other != index.end() && other->second != int(i);
      if (a[i].kind == Kind::error && names_another) blamed[i] = other->second;
      // Stopped while it waited for a node that does not even answer that it stops.
      if (a[i].kind == Kind::stopped && a[i].error.cause == Cause::cancelled && names_another &&
          unanswering(a[std::size_t(other->second)])) {
        blamed[i] = other->second;
      }
      culprit[i] = a[i].kind == Kind::silent || a[i].kind == Kind::gone ||
                   (a[i].kind == Kind::error && !names_another);
    }
  }

  static bool unanswering(const Answer& answer) {
    return answer.kind == Kind::stopped && answer.error.cause != Cause::cancelled;
  }

  // By what it says of itself, or does not say. One that others blame may be healthy.
  bool dead(std::size_t i) const {
    const Answer& a = answers[i];
    if (a.error.cause == Cause::stopping) return a.kind != Kind::stopped;
    if (a.kind == Kind::gone) return looks_dead(a.error.cause);
    // Mere lateness is Cause::deadline: its daemon may be there and busy.
    if (a.kind == Kind::silent)
      return a.error.cause == Cause::peer_lost || a.error.cause == Cause::unreachable;
    const std::string& where = a.error.where.node;
    return a.kind == Kind::error && a.error.cause == Cause::peer_lost && (where.empty() || where == a.node);
  }

  // Whether the errors that begin at `node`, each naming the next node, lead to a culprit.
  bool explained(int node) const {
    int at = node;
    for (std::size_t steps = 0; steps <= answers.size(); ++steps) {
      if (culprit[std::size_t(at)]) return true;
      if (!blamed[std::size_t(at)]) return false;
      at = *blamed[std::size_t(at)];
    }
    return false;  // a circle
  }

  // Where the errors that begin at `node` lead, if that is a node that had not done its part either and names
  // nobody.
  std::optional<int> end_of_chain(int node) const {
    int at = node;
    for (std::size_t steps = 0; steps <= answers.size() && blamed[std::size_t(at)]; ++steps)
      at = *blamed[std::size_t(at)];
    const bool ends = !blamed[std::size_t(at)] && answers[std::size_t(at)].kind == Kind::stopped;
    return ends ? std::optional(at) : std::nullopt;
  }

  // Of the errors that lead to no culprit yet: the node that they name most. Nullopt where there are
  // none, or where all only waited and all are waited for alike.
  std::optional<int> worst_node() const {
    struct Weight {
      int lost = 0;
      int waited = 0;
      bool names_none = false;
      double first = 0;
    };
    std::map<int, Weight> weights;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!blamed[i] || explained(int(i))) continue;
      if (const auto end = end_of_chain(int(i))) return end;
      auto [w, fresh] = weights.try_emplace(*blamed[i]);
      const bool lost = answers[i].error.cause != Cause::deadline;
      (lost ? w->second.lost : w->second.waited) += 1;
      w->second.names_none = !blamed[std::size_t(*blamed[i])];
      w->second.first = fresh ? answers[i].at : std::min(w->second.first, answers[i].at);
    }
    const auto worst = std::max_element(weights.begin(), weights.end(), [](const auto& a, const auto& b) {
      if (a.second.lost != b.second.lost) return a.second.lost < b.second.lost;
      if (a.second.waited != b.second.waited) return a.second.waited < b.second.waited;
      if (a.second.names_none != b.second.names_none) return b.second.names_none;
      return a.second.first > b.second.first;
    });
    if (worst == weights.end()) return std::nullopt;
    const bool alike = std::all_of(weights.begin(), weights.end(), [&](const auto& w) {
      return w.second.lost == 0 && w.second.waited == worst->second.waited && !w.second.names_none;
    });
    return alike && weights.size() > 1 ? std::nullopt : std::optional(worst->first);
  }

  // Why a node is the culprit that has not said so itself. Somebody blames it.
  Error blame(int node) const {
    const Answer* first = nullptr;
    int others = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (blamed[i] != node) continue;
      ++others;
      if (!first || answers[i].at < first->at) first = &answers[i];
    }
    Error error = first->error;
    error.what = "reported by " + first->node + ": " + first->error.what;
    if (error.next.empty() && error.cause == Cause::deadline) error.next = too_long;
    if (others > 1) error.what += " (and by " + std::to_string(others - 1) + " more)";
    return error;
  }
};

}  // namespace

std::vector<Failure> find_culprits(Phase phase, const std::vector<Answer>& answers) {
  Answers c(answers);
  std::vector<Failure> culprits, affected;
  std::map<int, Error> blames;
  while (const auto worst = c.worst_node()) {
    blames[*worst] = c.blame(*worst);
    c.culprit[std::size_t(*worst)] = true;
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Answer& answer = answers[i];
    if (const auto said = blames.find(int(i)); said != blames.end())
      culprits.push_back({answer.node, phase, said->second, true});
    else if (c.culprit[i])
      culprits.push_back({answer.node, phase, answer.error, true, c.dead(i)});
    else if (c.blamed[i])
      affected.push_back({answer.node, phase, answer.error, false});
  }
  if (culprits.empty() && !affected.empty()) {
    const Failure& first = affected.front();
    culprits.push_back(
        {"",
         phase,
         {Cause::deadline,
          "no node stands out, each waited for another; " + first.node + ": " + first.error.what, "",
          too_long},
         true});
  }
  culprits.insert(culprits.end(), affected.begin(), affected.end());
  return culprits;
}

}  // namespace ringtrue::fleet
