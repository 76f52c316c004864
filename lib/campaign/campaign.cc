#include "campaign/campaign.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "diagnosis/check.h"

namespace ringtrue::campaign {

diagnosis::Diagnosis check(const Case& c) {
  SimMeasurer measurer(c.world);
  diagnosis::Options options;
  options.link_rate = c.link_rate;
  options.efficiency = *ideal::ethernet_tcp(c.world.fabric.mtu);
  options.seed = c.seed;
  options.clock = [&] { return measurer.now(); };
  return diagnosis::run_check(measurer, options);
}

Outcome outcome_of(Case c, const diagnosis::Diagnosis& diagnosis) {
  const diagnosis::CaseScore score = score_case(c, diagnosis);
  c.world.fabric.faults.shrink_to_fit();
  return {std::move(c), diagnosis.verdict, score, diagnosis.cost, diagnosis.coverage};
}

std::vector<Outcome> play(const Campaign& campaign) {
  std::vector<std::optional<Outcome>> outcomes(std::size_t(std::max(campaign.cases, 0)));
  std::atomic<int> next = 0, done = 0;
  std::atomic<bool> ended = false;
  const auto work = [&] {
    for (int k = next++; k < campaign.cases && !ended; k = next++) {
      Case c = draw_case(campaign.seed, std::uint64_t(k), campaign.limits);
      const diagnosis::Diagnosis diagnosis = check(c);
      outcomes[std::size_t(k)] = outcome_of(std::move(c), diagnosis);
      if (campaign.on_progress && !campaign.on_progress(++done)) ended = true;
    }
  };
  const int cores = int(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (int t = 1; t < (campaign.threads > 0 ? campaign.threads : cores); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  std::vector<Outcome> out;
  for (auto& outcome : outcomes)
    if (outcome) out.push_back(std::move(*outcome));
  return out;
}

}  // namespace ringtrue::campaign
