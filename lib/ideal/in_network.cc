#include "ideal/in_network.h"

#include <fmt/format.h>

#include <algorithm>

#include "ideal/rails.h"

namespace ringtrue::ideal {
namespace {

constexpr const char* if_nvswitch = ", if its NVSwitches reduce (H100 and later)";
constexpr const char* if_infiniband = ", if the network is InfiniBand whose switches reduce";

struct Term {
  const char* formula;
  double value;  // bytes per second
};

// The lower of what is inside and what is between; either may be absent.
InNetwork lower_of(const char* name, std::vector<Term> terms, const std::string& conditions) {
  const auto low = std::min_element(terms.begin(), terms.end(),
                                    [](const Term& a, const Term& b) { return a.value < b.value; });
  const BytesPerSecond rate(low->value);
  std::string text;
  for (const Term& term : terms)
    text += fmt::format("{}{} = {:.6g}", text.empty() ? "" : ", ", term.formula, term.value / 1e9);
  if (terms.size() > 1) text = fmt::format("min({})", text);
  return {name, rate,
          terms.size() > 1 ? fmt::format("{} = {}{}", text, gb(rate), conditions)
                           : fmt::format("{} GB/s{}", text, conditions)};
}

}  // namespace

std::vector<InNetwork> in_network(const Inputs& in) {
  const double p = in.gpus_per_node, q = in.nodes, n = p * q;
  const bool nvlink = in.gpus_per_node > 1 && in.intra && in.nvlink_reduces.value_or(true);
  const std::string inside = in.nvlink_reduces ? "" : if_nvswitch;
  std::vector<InNetwork> all;
  if (in.nodes == 1) {
    if (nvlink)
      all.push_back(lower_of("nvlink-sharp",
                             {{"2 B (P-1) / (P+1)", 2 * in.intra->value.value * (p - 1) / (p + 1)}}, inside));
    return all;
  }
  if (!in.inter) return all;
  const double i = in.inter->value.value;
  const Term reduced{"2 I (N-1) / N", 2 * i * (n - 1) / n};
  const Term passed{"I (N-1) Q / (N (Q-1))", i * (n - 1) * q / (n * (q - 1))};
  const bool sharp = in.infiniband.value_or(true);
  const std::string between = in.infiniband ? "" : if_infiniband;
  if (sharp) {
    std::vector<Term> terms = {reduced};
    if (in.gpus_per_node > 1 && in.intra)
      terms.push_back({"B (N-1) / (N-Q)", in.intra->value.value * (n - 1) / (n - q)});
    all.push_back(lower_of("infiniband-sharp", std::move(terms),
                           in.gpus_per_node > 1 && !in.intra ? between + "; B is unknown" : between));
  }
  if (nvlink) {
    const Term fed{"2 B (N-1) P / (N (P+1))", 2 * in.intra->value.value * (n - 1) * p / (n * (p + 1))};
    all.push_back(lower_of("nvlink-sharp", {passed, fed}, inside));
    if (sharp) all.push_back(lower_of("nvlink-and-infiniband-sharp", {reduced, fed}, between + inside));
  }
  return all;
}

}  // namespace ringtrue::ideal
