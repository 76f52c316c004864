#include "campaign/weights.h"

namespace ringtrue::campaign {
namespace {

// Of 100 parts, those that fail in a month. docs/accuracy.md names what else the sources say.
// Qian et al., Alibaba HPN, SIGCOMM 2024: 0.057 % of the links between NICs and leaves.
constexpr double link = 0.057;
// Llama Team, The Llama 3 Herd of Models, 2024, table 5: 7 NICs in 54 days, of 16,384 GPUs with one each.
constexpr double nic = 100.0 * 7 / 16384 * (365.0 / 12 / 54);
// Singh et al., Surviving switch failures in cloud datacenters, CCR 2021: 2 % in three months.
constexpr double a_switch = 2.0 / 3;
// Wu et al., Greyhound, ATC 2025: slow computing in less than 2 % of the jobs that it was looked for in, slow
// communication in 40 %.
constexpr double computing_over_network = 2.0 / 40;

// Parts for a NIC, in a fabric that is not oversubscribed, of switches with 64 ports: a link, a cable between
// two switches, a leaf for 32 NICs, a spine and a core for 64.
constexpr double leaf = a_switch / 32, above = a_switch / 64;
constexpr double network = link + link + nic + leaf + above + above;

struct Share {
  std::string_view kind;
  double of_100;  // parts for a NIC and month
};
// How a bad link shows no source counts: in each way as often.
constexpr Share shares[] = {
    {"slow-out", link / 6},
    {"slow-in", link / 6},
    {"slow-node-links", link / 6},
    {"narrow-nic", link / 6},
    {"lossy", link / 6},
    {"flapping", link / 6},
    {"slow-trunk", link / 2},
    {"slow-cable", link / 2},
    {"slow-nic", nic},
    {"slow-leaf", leaf},
    {"slow-spine", above},
    {"slow-core", above},
    {"slow-compute", network* computing_over_network},
};

constexpr double mean() {
  double sum = 0;
  for (const Share& share : shares) sum += share.of_100;
  return sum / double(sizeof shares / sizeof shares[0]);
}

}  // namespace

double weight_of(std::string_view kind, Weights weights) {
  if (weights == Weights::field)
    for (const Share& share : shares)
      if (share.kind == kind) return share.of_100 / mean();
  return 1;
}

}  // namespace ringtrue::campaign
