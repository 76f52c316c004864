#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "ideal/facts.h"
#include "ideal/rails.h"

namespace ringtrue::ideal {
namespace {

constexpr double tolerance = 1.02;
constexpr double burst = 1.3;  // what a shaper's burst or a rounded rate may add
constexpr double max_rails = 64;

// Which rate sets the ideal of `schedule`: the one between nodes, or the one inside.
bool between_nodes(const Schedule* schedule, const Ideal& ideal, const Inputs& in) {
  if (!in.inter || !in.intra) return in.inter.has_value();
  if (!schedule) return ideal.inter_node && (!ideal.intra_node || *ideal.inter_node <= *ideal.intra_node);
  const auto loads = schedule->loads({in.nodes, in.gpus_per_node});
  return loads && loads->inter / in.inter->value.value >= loads->intra / in.intra->value.value;
}

std::string cause_of(double times, bool between, const Rate& rate) {
  const std::string what = fmt::format("the {} rate {}, {}", key_of(rate.origin),
                                       between ? "between nodes" : "inside a node", to_text(rate.value));
  if (times < burst)
    return fmt::format(
        "{}, is a little low, or a shaper's burst flattered a short call: repeat it with a larger --size",
        what);
  if (!between)
    return what +
           (rate.origin == Origin::declared
                ? ", is that of one link of several, or the ranks of a node share memory, which is faster"
                : ", is not all that the ranks of a node use: they share memory, or links that were not "
                  "seen");
  const auto rails = unsigned(std::clamp(std::round(times), 0.0, max_rails));
  if (rate.origin == Origin::declared && rails >= 2 && std::has_single_bit(rails) &&
      std::abs(times / rails - 1) < 0.1)
    return fmt::format("{}, is that of one of {} rails", what, rails);
  if (rate.origin == Origin::declared)
    return what + ", is too low, or the nodes are on one machine and no wire is between them";
  if (rate.source.find("PCIe path") != std::string::npos)
    return what +
           ", is that of PCIe links which traffic between a GPU and its NIC below one switch does not pass";
  return what + ", is not that of the NICs that carried the data, or the nodes are on one machine";
}

}  // namespace

std::optional<AboveIdeal> explain_above(BytesPerSecond measured, const Ideal& ideal, const Inputs& inputs,
                                        collective::AlgorithmId algorithm) {
  const Inputs in = as_domains(inputs);
  const AlgorithmIdeal* own = ideal.find(algorithm);
  const MaybeRate limit = own ? own->busbw : ideal.bound;
  if (!limit || !(measured.value > limit->value * tolerance)) return std::nullopt;
  if (ideal.may_be_passed)
    return AboveIdeal{"a GPU's share of the network is faster than its own links, which the model rules out",
                      false};
  // Ours reduce in the ranks; what is not ours may be reduced on the way.
  for (const InNetwork& way : ideal.in_network)
    if (!own && measured.value <= way.busbw.value * tolerance)
      return AboveIdeal{
          fmt::format("data is reduced in the network ({}, up to {})", way.name, to_text(way.busbw))};
  const auto all = schedules();
  const auto schedule =
      std::find_if(all.begin(), all.end(), [&](const Schedule& s) { return s.algorithm == algorithm; });
  const bool between = between_nodes(schedule == all.end() ? nullptr : &*schedule, ideal, in);
  const std::optional<Rate>& rate = between ? in.inter : in.intra;
  if (!rate) return std::nullopt;
  return AboveIdeal{cause_of(measured / *limit, between, *rate)};
}

std::string AboveIdeal::text(BytesPerSecond measured, BytesPerSecond ideal) const {
  return fmt::format("{}: busbw {} is {:.1f} % of the ideal, {}{}{}",
                     wrong_model ? "wrong model" : "above the ideal", to_text(measured),
                     measured / ideal * 100, to_text(ideal),
                     wrong_model ? "; likely cause: " : "; it may be right here: ", likely);
}

}  // namespace ringtrue::ideal
