#include "campaign/campaign.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

namespace ringtrue::campaign {

diagnosis::Options options_of(const Case& c, const SimMeasurer& measurer) {
  diagnosis::Options options;
  options.link_rate = c.link_rate;
  options.efficiency = *ideal::ethernet_tcp(c.world.fabric.mtu);
  options.seed = c.seed;
  options.budget_at_most = diagnosis::usual_budget_at_most;
  options.clock = [&measurer] { return measurer.now(); };
  return options;
}

Checked check(const Case& c, const std::function<bool()>& stopped) {
  SimMeasurer measurer(c.world);
  measurer.stop_when(stopped);
  diagnosis::Diagnosis diagnosis = diagnosis::run_check(measurer, options_of(c, measurer));
  return {std::move(diagnosis), measurer.runs_with_faults() > 0};
}

diagnosis::CaseScore score_of(const Case& c, const Checked& checked) {
  diagnosis::CaseScore out = score_case(c, checked.diagnosis);
  if (checked.faults_were_there) return out;
  out.faults = out.found = 0;
  out.wrong = out.findings;
  out.exact = false;
  for (diagnosis::Accusation& a : out.accusations) a.right = false;
  return out;
}

Outcome outcome_of(Case c, const Checked& checked) {
  const diagnosis::Diagnosis& diagnosis = checked.diagnosis;
  const diagnosis::CaseScore score = score_of(c, checked);
  c.world.fabric.faults.shrink_to_fit();
  return {std::move(c), diagnosis.verdict, score, diagnosis.cost, diagnosis.coverage};
}

std::vector<Outcome> play(const Campaign& campaign) {
  std::vector<std::optional<Outcome>> outcomes(std::size_t(std::max(campaign.cases, 0)));
  std::atomic<int> next = 0, done = 0;
  const auto stopped = [&] { return campaign.stopped && campaign.stopped(); };
  const auto work = [&] {
    for (int k = next++; k < campaign.cases && !stopped(); k = next++) {
      Case c = draw_case(campaign.seed, std::uint64_t(k), campaign.limits);
      const Checked checked = check(c, stopped);
      if (stopped()) return;
      outcomes[std::size_t(k)] = outcome_of(std::move(c), checked);
      if (campaign.on_progress) campaign.on_progress(++done);
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
