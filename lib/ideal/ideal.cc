#include "ideal/ideal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/plural.h"
#include "ideal/in_network.h"
#include "ideal/rails.h"

namespace ringtrue::ideal {
namespace {

constexpr long max_ranks = 4'194'304;

// Exact enough to be checked by hand: six significant digits, in GB/s.
std::string in_gb(BytesPerSecond rate) {
  return fmt::format("{:.6g}", rate.value / 1e9);
}

Result<void> validate(const Inputs& in) {
  if (in.nodes < 1 || in.gpus_per_node < 1) {
    return fail(Cause::bad_input,
                fmt::format("{} nodes of {} GPUs is not a cluster", in.nodes, in.gpus_per_node), {},
                "give at least one of each");
  }
  if (long(in.nodes) * in.gpus_per_node > max_ranks) {
    return fail(Cause::bad_input, fmt::format("{} nodes of {} GPUs are too many", in.nodes, in.gpus_per_node),
                {}, fmt::format("at most {} GPUs in all", max_ranks));
  }
  if (in.nvlink_domain < 1 || in.nodes % in.nvlink_domain != 0) {
    return fail(
        Cause::bad_input,
        fmt::format("{} are not whole NVLink domains of {}", plural(in.nodes, "node"), in.nvlink_domain), {},
        "give a number of nodes that is a multiple of the domain's");
  }
  for (const auto* rate : {&in.inter, &in.intra}) {
    if (*rate && !(std::isfinite((*rate)->value.value) && (*rate)->value.value > 0)) {
      return fail(Cause::bad_input, fmt::format("{} bytes per second is not a rate", (*rate)->value.value),
                  {}, "rates are above zero; leave out what is not known");
    }
  }
  for (const auto* share : {&in.inter_efficiency, &in.intra_efficiency}) {
    if (*share && !((*share)->share > 0 && (*share)->share <= 1)) {
      return fail(Cause::bad_input, fmt::format("an efficiency of {} is not possible", (*share)->share), {},
                  "give a share above 0 and at most 1");
    }
  }
  return {};
}

std::optional<BytesPerSecond> nominal(const std::optional<Rate>& rate) {
  if (!rate) return std::nullopt;
  return rate->value;
}

std::optional<BytesPerSecond> scaled(const std::optional<Rate>& rate, const std::optional<Efficiency>& by) {
  if (!rate || !by) return std::nullopt;
  return rate->value * by->share;
}

// busbw of a schedule, nullopt where a rate that it uses is unknown.
std::optional<BytesPerSecond> busbw(double factor, const Loads& loads, std::optional<BytesPerSecond> inter,
                                    std::optional<BytesPerSecond> intra) {
  if ((loads.inter > 0 && !inter) || (loads.intra > 0 && !intra)) return std::nullopt;
  const auto value = [](const auto& rate) { return rate ? rate->value : 0.0; };
  const double longest = seconds_a_byte(loads, value(inter), value(intra));
  if (longest <= 0) return std::nullopt;
  return BytesPerSecond(factor / longest);
}

AlgorithmIdeal rate_algorithm(const Schedule& schedule, const Shape& shape, const Inputs& in) {
  AlgorithmIdeal out;
  out.algorithm = schedule.algorithm;
  const auto loads = schedule.loads(shape);
  if (!loads) {
    out.arithmetic = schedule.not_here;
    return out;
  }
  const double factor = busbw_factor(schedule.algorithm, shape.ranks());
  out.busbw = busbw(factor, *loads, nominal(in.inter), nominal(in.intra));
  out.attainable =
      busbw(factor, *loads, scaled(in.inter, in.inter_efficiency), scaled(in.intra, in.intra_efficiency));
  const auto terms = [&](double inter, double intra, const char* between) {
    std::string text;
    const auto term = [&](double load, const std::optional<Rate>& rate, const char* unknown) {
      if (load <= 0) return;
      text += text.empty() ? "" : between;
      text += fmt::format("{:.6g} / {}", load, rate ? in_gb(rate->value) : std::string(unknown));
    };
    term(inter, in.inter, "I");
    term(intra, in.intra, "B");
    return text;
  };
  const std::string time = loads->both
                               ? fmt::format("({} - min({}))", terms(loads->inter, loads->intra, " + "),
                                             terms(loads->both->inter, loads->both->intra, ", "))
                               : fmt::format("max({})", terms(loads->inter, loads->intra, ", "));
  out.arithmetic = loads->inter + loads->intra <= 0
                       ? std::string("one rank: nothing moves")
                       : fmt::format("{:.6g} / {} = {}", factor, time,
                                     out.busbw ? gb(*out.busbw) : std::string("unknown"));
  return out;
}

void add_bound(const Inputs& in, const Shape& shape, Ideal& ideal) {
  const double q = in.nodes, p = in.gpus_per_node, n = double(shape.ranks());
  if (in.nodes == 1) {
    if (in.gpus_per_node > 1 && in.intra) {
      ideal.intra_node = in.intra->value;
      ideal.arithmetic.push_back(fmt::format("one node: B = {}", gb(*ideal.intra_node)));
    }
  } else {
    if (in.inter) {
      ideal.inter_node = BytesPerSecond(in.inter->value.value * (n - 1) * q / (n * (q - 1)));
      ideal.arithmetic.push_back(
          fmt::format("between nodes: I (N-1) Q / (N (Q-1)) = {} x {} x {} / ({} x {}) = {}",
                      in_gb(in.inter->value), n - 1, q, n, q - 1, gb(*ideal.inter_node)));
    }
    if (in.gpus_per_node > 1 && in.intra) {
      ideal.intra_node = BytesPerSecond(in.intra->value.value * (n - 1) / (n - q));
      ideal.arithmetic.push_back(fmt::format("inside nodes: B (N-1) / (N-Q) = {} x {} / ({} - {}) = {}",
                                             in_gb(in.intra->value), n - 1, n, q, gb(*ideal.intra_node)));
    }
  }
  if (ideal.inter_node && ideal.intra_node) {
    ideal.bound = std::min(*ideal.inter_node, *ideal.intra_node);
    ideal.arithmetic.push_back(fmt::format("bound: min({}, {}) = {}", in_gb(*ideal.inter_node),
                                           in_gb(*ideal.intra_node), gb(*ideal.bound)));
  } else if (ideal.inter_node || ideal.intra_node) {
    ideal.bound = ideal.inter_node ? ideal.inter_node : ideal.intra_node;
    ideal.arithmetic.push_back(fmt::format("bound: {}", gb(*ideal.bound)));
  }
  if (shape.ranks() == 1) ideal.notes.push_back("one rank: nothing moves, so there is no bound");
  if (in.nodes > 1 && !in.inter) {
    ideal.notes.push_back("the rate between nodes is unknown: its term is not part of the bound");
  }
  if (in.gpus_per_node > 1 && !in.intra) {
    ideal.notes.push_back("the rate inside a node is unknown: its term is not part of the bound");
  }
  if (in.nodes > 1 && in.gpus_per_node > 1 && in.inter && in.intra &&
      in.inter->value.value / p > in.intra->value.value) {
    ideal.may_be_passed = true;
    ideal.notes.push_back(
        fmt::format("I / P = {} GB/s is more than B = {} GB/s: a GPU's share of the network is faster than "
                    "its own links, as on "
                    "PCIe machines with a NIC per GPU. The bound assumes the opposite; a result above it may "
                    "be right here",
                    in_gb(in.inter->value / p), in_gb(in.intra->value)));
  }
}

}  // namespace

const AlgorithmIdeal* Ideal::find(collective::AlgorithmId algorithm) const {
  for (const AlgorithmIdeal& a : algorithms) {
    if (a.algorithm == algorithm) return &a;
  }
  return nullptr;
}

Result<Ideal> compute(const Inputs& inputs) {
  if (auto valid = validate(inputs); !valid) return tl::unexpected(valid.error());
  const Inputs in = as_domains(inputs);
  const Shape shape{in.nodes, in.gpus_per_node};
  Ideal ideal;
  if (inputs.nvlink_domain > 1)
    ideal.arithmetic.push_back(
        fmt::format("NVLink joins {}: taken as {} of {}{}", plural(inputs.nvlink_domain, "node"),
                    plural(in.nodes, "node"), plural(in.gpus_per_node, "GPU"),
                    in.inter && in.nodes > 1 ? fmt::format(", with I = {} x {} = {}", inputs.nvlink_domain,
                                                           in_gb(inputs.inter->value), gb(in.inter->value))
                                             : ""));
  add_bound(in, shape, ideal);
  ideal.in_network = in_network(in);
  for (const Schedule& s : schedules()) ideal.algorithms.push_back(rate_algorithm(s, shape, in));
  return ideal;
}

Inputs as_domains(const Inputs& inputs) {
  Inputs in = inputs;
  in.nodes /= in.nvlink_domain;
  in.gpus_per_node *= in.nvlink_domain;
  if (in.inter) in.inter->value = in.inter->value * double(in.nvlink_domain);
  in.nvlink_domain = 1;
  return in;
}

std::vector<NamedInput> list(const Inputs& in) {
  std::vector<NamedInput> out;
  out.push_back({"nodes", double(in.nodes), in.nodes_origin, in.nodes_source});
  out.push_back({"gpus_per_node", double(in.gpus_per_node), in.gpus_origin, in.gpus_source});
  const auto rate = [&](const char* name, const std::optional<Rate>& r) {
    out.push_back(r ? NamedInput{name, r->value.value, r->origin, r->source}
                    : NamedInput{name, {}, Origin::unknown, {}});
  };
  const auto share = [&](const char* name, const std::optional<Efficiency>& e) {
    out.push_back(e ? NamedInput{name, e->share, e->origin, e->source}
                    : NamedInput{name, {}, Origin::unknown, {}});
  };
  if (in.nvlink_domain > 1) out.push_back({"nvlink_domain", double(in.nvlink_domain), in.domain_origin, {}});
  rate("inter_Bps", in.inter);
  rate("intra_Bps", in.intra);
  share("inter_efficiency", in.inter_efficiency);
  share("intra_efficiency", in.intra_efficiency);
  return out;
}

}  // namespace ringtrue::ideal
