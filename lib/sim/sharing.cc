#include "sim/sharing.h"

#include <algorithm>

namespace ringtrue::sim {

namespace {

constexpr double tiny = 1e-9;            // two rates that differ by less are the same
constexpr double picosecond = 1e-12;     // two ends that lie this close are one
constexpr std::size_t crowd = 128;       // flows of a link, beyond which ...
constexpr double crowd_patience = 1e-3;  // ... ends this close, relative to the flow's time, are one
constexpr double burst = 10;             // times a link's rate, while there is something in its bucket
constexpr double droplet = 1e-6;         // seconds at a link's rate: a bucket with less in it is empty

}  // namespace

std::uint32_t Sharing::add_link(double rate, double bucket) {
  Link& link = links_.emplace_back();
  link.rate = link.capacity = link.filled = rate;
  link.bucket = bucket;
  return std::uint32_t(links_.size() - 1);
}

void Sharing::soil(std::uint32_t link) {
  if (links_[link].dirty) return;
  links_[link].dirty = true;
  dirty_.push_back(link);
}

void Sharing::set_rate(std::uint32_t link, double rate) {
  if (links_[link].rate == rate) return;
  links_[link].rate = rate;
  soil(link);
}

void Sharing::start(std::span<const std::uint32_t> links, double bytes, std::uint32_t tag, double now) {
  std::uint32_t index = std::uint32_t(flows_.size());
  if (unused_.empty()) {
    flows_.emplace_back();
  } else {
    index = unused_.back();
    unused_.pop_back();
    flows_[index] = {};
  }
  Flow& flow = flows_[index];
  flow.tag = tag;
  flow.left = bytes;
  flow.since = flow.began = now;
  for (const std::uint32_t link : links) {
    flow.links[flow.count] = link;
    flow.position[flow.count] = std::uint32_t(links_[link].flows.size());
    links_[link].flows.push_back({index, flow.count});
    ++flow.count;
    soil(link);
  }
  flow.bottleneck = links[0];
}

void Sharing::remove(std::uint32_t index) {
  const Flow& flow = flows_[index];
  for (std::uint32_t leg = 0; leg < flow.count; ++leg) {
    std::vector<Crossing>& list = links_[flow.links[leg]].flows;
    const Crossing last = list.back();
    list[flow.position[leg]] = last;
    flows_[last.flow].position[last.leg] = flow.position[leg];
    list.pop_back();
    soil(flow.links[leg]);
  }
  unused_.push_back(index);
}

void Sharing::choose(std::uint32_t flow) {
  if (flows_[flow].chosen) return;
  flows_[flow].chosen = true;
  chosen_.push_back(flow);
}

void Sharing::choose_link(std::uint32_t number, double now) {
  Link& link = links_[number];
  if (link.chosen) return;
  link.chosen = true;
  chosen_links_.push_back(number);
  link.capacity = link.rate;
  if (link.bucket <= 0) return;
  link.tokens = std::clamp(link.tokens + (link.filled - link.used) * (now - link.since), 0.0, link.bucket);
  link.since = now;
  if (link.tokens > link.rate * droplet) link.capacity *= burst;
}

void Sharing::choose_links(double now) {
  for (const std::uint32_t index : chosen_) {
    const Flow& flow = flows_[index];
    for (std::uint32_t leg = 0; leg < flow.count; ++leg) choose_link(flow.links[leg], now);
  }
}

// Progressive filling of the chosen flows, over what the others leave.
void Sharing::fill() {
  heap_.clear();
  for (const std::uint32_t index : chosen_) flows_[index].fixed = false;
  for (const std::uint32_t number : chosen_links_) {
    Link& link = links_[number];
    link.room = link.capacity;
    link.loose = 0;
    for (const Crossing& crossing : link.flows) {
      const Flow& flow = flows_[crossing.flow];
      flow.chosen ? void(++link.loose) : void(link.room -= flow.rate);
    }
    link.room = std::max(link.room, 0.0);
    if (link.loose > 0) heap_.push_back({link.room / link.loose, number});
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const auto [noted, number] = heap_.back();
    heap_.pop_back();
    Link& link = links_[number];
    if (link.loose == 0) continue;
    // A link's share only grows while others' flows are fixed, so that what was noted is a lower bound.
    const double share = link.room / link.loose;
    if (share > noted) {
      heap_.push_back({share, number});
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      continue;
    }
    for (const Crossing& crossing : link.flows) {
      Flow& flow = flows_[crossing.flow];
      if (!flow.chosen || flow.fixed) continue;
      flow.fixed = true;
      flow.fresh = share;
      flow.bottleneck = number;
      for (std::uint32_t leg = 0; leg < flow.count; ++leg) {
        Link& other = links_[flow.links[leg]];
        --other.loose;
        if (flow.links[leg] != number) other.room = std::max(other.room - share, 0.0);
      }
    }
  }
}

// Chooses those beside the chosen flows for whom the new rates leave too little or more than they have.
bool Sharing::widen() {
  const std::size_t before = chosen_.size();
  for (const std::uint32_t number : chosen_links_) {
    const Link& link = links_[number];
    double used = 0, most = 0, limited = never;  // limited: what those get whom this link limits
    bool others = false;
    for (const Crossing& crossing : link.flows) {
      const Flow& flow = flows_[crossing.flow];
      const double rate = flow.chosen ? flow.fresh : flow.rate;
      used += rate;
      if (!flow.chosen) {
        others = true;
        continue;
      }
      most = std::max(most, rate);
      if (flow.bottleneck == number) limited = std::min(limited, rate);
    }
    if (!others) continue;
    const bool full = used >= link.capacity * (1 - tiny);
    for (std::size_t i = 0; i < link.flows.size(); ++i) {
      const std::uint32_t index = link.flows[i].flow;
      const Flow& flow = flows_[index];
      if (flow.chosen) continue;
      const bool may_rise = flow.bottleneck == number && (!full || flow.rate < most * (1 - tiny));
      if (may_rise || flow.rate > limited * (1 + tiny)) choose(index);
    }
  }
  return chosen_.size() > before;
}

void Sharing::commit(double now) {
  for (const std::uint32_t index : chosen_) {
    Flow& flow = flows_[index];
    flow.chosen = false;
    if (flow.fresh == flow.rate) continue;
    if (flow.left != never) flow.left = std::max(flow.left - flow.rate * (now - flow.since), 0.0);
    flow.since = now;
    flow.rate = flow.fresh;
  }
  for (const std::uint32_t number : chosen_links_) {
    Link& link = links_[number];
    link.chosen = false;
    ++link.version;
    double end = never;
    link.filled = link.rate;
    link.used = 0;
    for (const Crossing& crossing : link.flows) {
      const Flow& flow = flows_[crossing.flow];
      link.used += flow.rate;
      if (flow.bottleneck == number) end = std::min(end, flow.end());
    }
    if (end != never) endings_.push({std::max(end, now), number, link.version});
    if (link.bucket > 0 && link.used > link.rate * (1 + tiny))
      empty_.push({now + link.tokens / (link.used - link.rate), number, link.version});
  }
}

void Sharing::settle(double now) {
  chosen_.clear();
  chosen_links_.clear();
  for (const std::uint32_t number : dirty_) {
    links_[number].dirty = false;
    choose_link(number, now);
    for (const Crossing& crossing : links_[number].flows) choose(crossing.flow);
  }
  dirty_.clear();
  do {
    choose_links(now);
    fill();
  } while (widen());
  commit(now);
}

// Of those that still hold.
double Sharing::first(Endings& endings) const {
  while (!endings.empty() && endings.top().version != links_[endings.top().link].version) endings.pop();
  return endings.empty() ? never : endings.top().time;
}

double Sharing::next() {
  return std::min(first(endings_), first(empty_));
}

std::vector<double> Sharing::rates(std::size_t tags) const {
  std::vector<double> out(tags);
  for (const Link& link : links_) {
    for (const Crossing& crossing : link.flows) {
      const Flow& flow = flows_[crossing.flow];
      if (flow.tag < tags) out[flow.tag] = flow.rate;
    }
  }
  return out;
}

void Sharing::finish(double now, std::vector<std::uint32_t>& tags) {
  for (; first(empty_) <= now; empty_.pop()) soil(empty_.top().link);
  while (first(endings_) <= now) {
    const std::uint32_t number = endings_.top().link;
    endings_.pop();
    Link& link = links_[number];
    ++link.version;
    soil(number);
    const bool crowded = link.flows.size() > crowd;
    for (std::size_t i = 0; i < link.flows.size();) {
      const std::uint32_t index = link.flows[i].flow;
      const Flow& flow = flows_[index];
      const double patience = crowded ? crowd_patience * (now - flow.began) : picosecond;
      if (flow.bottleneck == number && flow.end() <= now + patience) {
        tags.push_back(flow.tag);
        remove(index);  // another one takes its place
      } else {
        ++i;
      }
    }
  }
}

}  // namespace ringtrue::sim
