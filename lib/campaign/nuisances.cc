#include "campaign/nuisances.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/number.h"

namespace ringtrue::campaign {
namespace {

constexpr Dial all_dials[] = {
    {"spread", &Nuisances::spread, 0.03, "ports differ for good, by this standard deviation"},
    {"declared", &Nuisances::declared, 0.06, "the link rate that is told is off by up to this"},
    {"generations", &Nuisances::generations, 0.3,
     "of the nodes have NICs of half the rate, or in half of the cases some of a quarter"},
    {"latency", &Nuisances::latency, 0.1, "round trips are longer by up to this"},
    {"lasting", &Nuisances::lasting, 0.05, "of the nodes send for others throughout"},
    {"tails", &Nuisances::tails, 0.1, "readings are low by this, with a heavy tail"},
    {"away", &Nuisances::away, 0.5, "of the time, faults are not there"},
    {"retransmits", &Nuisances::retransmits, 1e-4, "of the packets are sent again on healthy links"},
    {"intermittent", &Nuisances::intermittent, 0,
     "of the runs, faults are not there (none with half and full)"},
};
constexpr double max_share = 0.9;

Nuisances all_at(double share) {
  Nuisances out;
  for (const Dial& dial : all_dials) out.*dial.value = share * dial.full;
  return out;
}

}  // namespace

std::span<const Dial> dials() {
  return all_dials;
}

Result<Nuisances> parse_nuisances(std::string_view text) {
  if (text == "none") return Nuisances{};
  if (text == "half") return all_at(0.5);
  if (text == "full") return all_at(1);
  Nuisances out;
  for (;;) {
    const auto comma = text.find(','), equals = text.substr(0, comma).find('=');
    const auto name = text.substr(0, std::min(comma, equals));
    const auto dial = std::find_if(std::begin(all_dials), std::end(all_dials),
                                   [&](const Dial& d) { return d.name == name; });
    std::vector<std::string_view> names;
    for (const Dial& d : all_dials) names.push_back(d.name);
    if (dial == std::end(all_dials) || equals == text.npos)
      return fail(Cause::bad_input, fmt::format("'{}' is no dial with a value", name.substr(0, 40)), {},
                  fmt::format("none, half, full, or some of {} as NAME=SHARE", fmt::join(names, ", ")));
    const auto share = parse_share(text.substr(0, comma).substr(equals + 1), max_share);
    if (!share)
      return fail(Cause::bad_input, fmt::format("{} is not a share from 0 to {:g}%", name, max_share * 100),
                  {}, "like spread=3% or spread=0.03");
    out.*dial->value = *share;
    if (comma == text.npos) return out;
    text.remove_prefix(comma + 1);
  }
}

std::string to_text(const Nuisances& nuisances) {
  if (nuisances == Nuisances{}) return "none";
  if (nuisances == all_at(0.5)) return "half";
  if (nuisances == all_at(1)) return "full";
  std::string out;
  for (const Dial& dial : all_dials)
    if (nuisances.*dial.value > 0)
      out += fmt::format("{}{}={:g}%", out.empty() ? "" : ",", dial.name, nuisances.*dial.value * 100);
  return out;
}

}  // namespace ringtrue::campaign
