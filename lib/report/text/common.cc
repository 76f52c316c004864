#include <fmt/format.h>

#include <algorithm>

#include "base/plural.h"
#include "report/text/text.h"

namespace ringtrue::report {

std::string transport_text(const std::vector<run::Transport>& transports) {
  return transports.empty() ? "model" : to_text(transports);
}

std::string rate_text(const Maybe& rate_Bps) {
  return rate_Bps ? to_text(BytesPerSecond(*rate_Bps)) : "-";
}

std::string amount_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  static constexpr std::string_view units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = double(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, value < 99.95 ? 1 : 0, units[unit]);
}

std::string percent_text(const Maybe& ratio) {
  return ratio ? fmt::format("{:.1f} %", *ratio * 100) : "-";
}

namespace {

// Whether the summary, which names up to four nodes, has said it all.
bool summed_up(const ops::Trouble& trouble) {
  const auto& all = trouble.failures;
  return all.size() <= 4 && std::all_of(all.begin(), all.end(), [&](const ops::Failure& f) {
           return f.culprit && f.error.what == all.front().error.what && f.phase == all.front().phase;
         });
}

bool somebody_was_waited_for(const ops::Trouble& trouble) {
  const auto late = [](const Error& e) {
    return e.cause == Cause::deadline || e.cause == Cause::unreachable || e.cause == Cause::peer_lost;
  };
  return late(trouble.error) || std::any_of(trouble.failures.begin(), trouble.failures.end(),
                                            [&](const ops::Failure& f) { return late(f.error); });
}

}  // namespace

std::string failures_text(const ops::Trouble& trouble, const Style& style) {
  if (summed_up(trouble)) return "";
  std::string out;
  constexpr int shown = 16;
  int count = 0;
  for (const ops::Failure& f : trouble.failures) {
    if (f.node.empty() || ++count > shown) continue;  // the summary tells what concerns no node
    out +=
        fmt::format("  {} {}: {}{}\n", style.paint(f.node, f.culprit ? Ink::red : Ink::dim), key_of(f.phase),
                    f.error.what, f.culprit ? "" : style.paint(" (waited for the others)", Ink::dim));
  }
  if (count > shown) out += fmt::format("  and {}\n", plural(count - shown, "more node"));
  return style.fit(out);
}

std::string notes_text(const std::vector<std::string>& notes, const Style& style) {
  std::string out;
  for (const std::string& note : notes) out += style.line("note: " + note, Ink::dim);
  return out;
}

std::string deadlines_text(const std::optional<ops::Deadlines>& deadlines, const ops::Trouble& trouble) {
  if (!deadlines || !somebody_was_waited_for(trouble)) return "";
  return fmt::format("timeouts: {} per phase, {} per run\n", to_text(Seconds(deadlines->phase_s)),
                     to_text(Seconds(deadlines->run_s)));
}

}  // namespace ringtrue::report
