#include "engine/device/transfers.h"

#include <algorithm>

#include "collective/recorder.h"

namespace ringtrue::engine {

using collective::Slice;
using collective::Space;

std::vector<Transfer> Ranges::add(std::uint64_t offset, std::uint64_t length) {
  std::vector<Transfer> fresh;
  if (length == 0) return fresh;
  std::uint64_t begin = offset, end = offset + length, at = offset;
  auto next = ends_.upper_bound(begin);
  if (next != ends_.begin() && std::prev(next)->second >= begin) --next;
  while (next != ends_.end() && next->first <= end) {
    if (at < next->first) fresh.push_back({at, next->first - at});
    at = std::max(at, next->second);
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    next = ends_.erase(next);
  }
  if (at < offset + length) fresh.push_back({at, offset + length - at});
  ends_[begin] = end;
  return fresh;
}

std::vector<Transfer> Ranges::all() const {
  std::vector<Transfer> all;
  for (const auto& [begin, end] : ends_) all.push_back({begin, end - begin});
  return all;
}

Transfers transfers_of(const collective::Algorithm& algorithm, const collective::Layout& layout,
                       collective::Rank rank, const collective::Call& call) {
  using Kind = collective::Step::Kind;
  Transfers out;
  Ranges here;                                // in the host's memory: brought, or made there
  std::map<std::uint64_t, std::uint32_t> at;  // of out.down, by offset
  std::vector<Slice> written;                 // by step; of no length: nothing of the data
  const auto of_data = [](const Slice& slice) { return slice.space == Space::data ? slice : Slice{}; };
  collective::record(algorithm, layout, rank, call, [&](const collective::Step& step) {
    const PostName name = step.kind == Kind::send   ? PostName::send(step.peer, step.lane)
                          : step.kind == Kind::copy ? PostName::copy(step.slice)
                                                    : PostName::receive(step.peer, step.lane);
    out.named[name].push_back(std::uint32_t(out.steps.size()));
    Slice read = of_data(step.kind == Kind::send ? step.slice : step.with);
    if (step.kind == Kind::receive) read = {};
    for (const Transfer& part : here.add(read.offset, read.length)) {
      at[part.offset] = std::uint32_t(out.down.size());
      out.down.push_back(part);
    }
    Transfers::Step planned;
    planned.first_need = std::uint32_t(out.need.size());
    auto next = at.upper_bound(read.offset);
    if (next != at.begin()) --next;
    for (; next != at.end() && next->first < read.offset + read.length; ++next)
      if (next->first + out.down[next->second].length > read.offset) out.need.push_back(next->second);
    planned.needs = std::uint32_t(out.need.size()) - planned.first_need;
    out.steps.push_back(planned);
    written.push_back(step.kind == Kind::send ? Slice{} : of_data(step.slice));
    here.add(written.back().offset, written.back().length);
  });
  Ranges later;
  for (std::size_t i = written.size(); i-- > 0;) {
    const auto last = later.add(written[i].offset, written[i].length);
    out.steps[i].first_up = std::uint32_t(out.up.size());
    out.steps[i].ups = std::uint32_t(last.size());
    out.up.insert(out.up.end(), last.begin(), last.end());
  }
  return out;
}

}  // namespace ringtrue::engine
