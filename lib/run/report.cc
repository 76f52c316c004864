#include "run/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <type_traits>

#include "base/hostlist.h"
#include "run/fields.h"

namespace ringtrue::run {
namespace {

// One part's fields added to those of the whole: counts and times are summed, lists joined; what
// one part alone has, or all have alike, is taken as it is.
struct Merge {
  void operator()(const char*, const About&, auto& whole, auto& part) const { add(whole, part); }

  template <class T>
  requires std::is_arithmetic_v<T>
  static void add(T& whole, T part) { whole += part; }
  template <class T>
  static void add(std::vector<T>& whole, std::vector<T>& part) {
    std::move(part.begin(), part.end(), std::back_inserter(whole));
  }
  template <class T>
  static void add(std::map<std::string, T>& whole, std::map<std::string, T>& part) {
    whole.merge(part);
  }
  static void add(std::string& whole, std::string& part) {
    if (whole.empty()) whole = std::move(part);
  }
  template <class T>
  static void add(std::optional<T>& whole, std::optional<T>& part) {
    if (part) whole = std::move(part);
  }
};

template <class T>
void keep_each_once(std::vector<T>& all) {
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

std::string_view beginning(Remark::Kind kind, bool alone) {
  switch (kind) {
    case Remark::Kind::over_tcp:
      return alone ? "TCP is used to and from" : "TCP is used between";
    case Remark::Kind::staged:
      return "data is copied through registered buffers on";
    case Remark::Kind::copied:
      return "copy engines play, driven by the host, on";
    case Remark::Kind::mirrored:
      return "GPU memory is staged through pinned host memory on";
    case Remark::Kind::unknown_use:
      return "it is not known whether others use the GPUs of";
    case Remark::Kind::left_out:
      return "RDMA leaves out ports of";
    case Remark::Kind::other_ports:
      return "ports of another kind carry no RDMA on";
    case Remark::Kind::unpaired:
      return "other nodes' ports have no partner on";
    case Remark::Kind::no_effect:
      return "a setting has no effect on";
  }
  return "";
}

// A line for each reason, however many nodes it concerns: the first is named, the others are counted, but for
// faults of nodes, where each is named. A line for all nodes' other ports.
std::vector<std::string> notes_of(const std::vector<Remark>& remarks) {
  using Kind = Remark::Kind;
  std::map<std::tuple<Kind, bool, std::string_view>, std::vector<const Remark*>> by_reason;
  for (const Remark& r : remarks) {
    const std::string_view why = r.kind == Kind::other_ports ? "" : std::string_view(r.why);
    by_reason[{r.kind, r.peer.empty(), why}].push_back(&r);
  }
  std::vector<std::string> notes;
  for (const auto& [reason, of] : by_reason) {
    const auto& [kind, alone, same] = reason;
    const Remark& first = *of.front();
    const bool differ =
        std::any_of(of.begin(), of.end(), [&](const Remark* r) { return r->why != first.why; });
    const std::string why = first.why + (differ ? ", and others" : "");
    std::string who = alone ? first.node : fmt::format("{} and {}", first.node, first.peer);
    if (kind == Kind::left_out || kind == Kind::unpaired) {
      std::vector<std::string> names;
      for (const Remark* r : of) names.push_back(r->node);
      who = fold_hostlist(names);
    } else if (alone && of.size() == 2) {
      who += fmt::format(" and {}", of[1]->node);
    } else if (of.size() > 1) {
      who += fmt::format(" and {} other{}", of.size() - 1, alone ? "s" : of.size() > 2 ? " pairs" : " pair");
    }
    notes.push_back(fmt::format("{} {}: {}", beginning(kind, alone), who, why));
  }
  return notes;
}

}  // namespace

std::string to_text(const std::vector<Transport>& transports) {
  std::string out;
  for (const Transport each : transports) out.append(out.empty() ? "" : "+").append(key_of(each));
  return out;
}

Result<void> check(const RunReport& report) {
  for (const GpuLimit& limit : report.gpu_limits)
    if (limit.gpu.index < 0) return fail(Cause::bad_input, "report: gpu_limits: a limit of no GPU");
  return {};
}

RunReport merge(std::vector<RunReport> parts) {
  RunReport whole;
  for (RunReport& part : parts) fields(Merge{}, whole, part);
  keep_each_once(whole.transports);
  std::sort(whole.ranks.begin(), whole.ranks.end(),
            [](const RankReport& a, const RankReport& b) { return a.rank < b.rank; });
  std::sort(whole.trace.hops.begin(), whole.trace.hops.end(), [](const run::Hop& a, const run::Hop& b) {
    return std::pair(a.source, a.destination) < std::pair(b.source, b.destination);
  });
  keep_each_once(whole.remarks);
  keep_each_once(whole.networks);
  whole.notes = notes_of(whole.remarks);
  return whole;
}

std::vector<double> slowest(const RunReport& report) {
  std::vector<double> times;
  for (const RankReport& rank : report.ranks) {
    times.resize(std::max(times.size(), rank.time_s.size()));
    for (std::size_t i = 0; i < rank.time_s.size(); ++i) times[i] = std::max(times[i], rank.time_s[i]);
  }
  return times;
}

}  // namespace ringtrue::run
