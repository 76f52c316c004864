#include "engine/device/blocks.h"

#include <algorithm>

#include "engine/kernels/nonzero.h"
#include "transport/cuda/staging.h"

namespace ringtrue::engine {

namespace cuda = transport::cuda;

namespace {

constexpr std::uint64_t max_copy = 1 << 20;  // bytes
constexpr std::size_t window = 16;           // copies under way

}  // namespace

Result<std::unique_ptr<DeviceBlocks>> DeviceBlocks::make(DeviceData& data, const collective::Call& call,
                                                         std::function<void(Error)> failed) {
  std::unique_ptr<DeviceBlocks> made(new DeviceBlocks(data, call, std::move(failed)));
  const std::uint64_t block = std::max<std::uint32_t>(call.omni.block, 1);
  made->blocks_ = (call.elements + block - 1) / block;
  const std::uint64_t bytes = std::max<std::uint64_t>((made->blocks_ + 31) / 32 * 4, 256);
  for (auto [into, kind] : {std::pair(&made->map_, cuda::MemoryKind::device),
                            std::pair(&made->found_, cuda::MemoryKind::pinned)}) {
    if (auto made = assign(*into, data.device().allocate(kind, bytes)); !made)
      return tl::unexpected(made.error());
  }
  made->words_ = reinterpret_cast<const std::uint32_t*>(made->found_->at());
  made->landed_.resize(window);
  for (auto& event : made->landed_)
    if (auto done = assign(event, data.device().make_event()); !done) return tl::unexpected(done.error());
  return made;
}

// What is under way still uses what goes now.
DeviceBlocks::~DeviceBlocks() {
  (void)cuda::wait_for(data_.down_stream(), data_.device().gpu(), Deadline::in(Seconds(2)));
}

bool DeviceBlocks::good(const Result<void>& result) {
  if (!result) failed_(result.error());
  return result.has_value();
}

void DeviceBlocks::start() {
  known_ = asked_ = 0;
  under_way_.clear();
  looked_ = false;
  first_ = 0;
  if (blocks_ == 0) return;
  cuda::Stream& stream = data_.down_stream();
  Result<void> told = stream.run(cuda::Bitmap{data_.at(), reinterpret_cast<std::uint32_t*>(map_->at()),
                                              call_.elements, call_.omni.block, std::uint8_t(call_.type)});
  if (told) told = stream.copy(found_->at(), map_->at(), (blocks_ + 31) / 32 * 4);
  if (told) told = stream.record(*landed_[0]);
  under_way_.push_back(0);
  good(told);
}

void DeviceBlocks::values(std::uint64_t block, std::vector<std::uint64_t>& elements) const {
  const std::uint64_t size = call_.omni.block;
  find_values(call_.type, data_.host(), block * size, std::min((block + 1) * size, call_.elements), elements);
}

void DeviceBlocks::look_further() {
  while (!under_way_.empty()) {
    const auto landed = landed_[first_]->reached();
    if (!landed) return failed_(landed.error());
    if (!*landed) break;
    looked_ = true;
    known_ = under_way_.front();
    under_way_.pop_front();
    first_ = (first_ + 1) % window;
  }
  if (looked_) bring();
  if (under_way_.empty()) known_ = asked_;
}

void DeviceBlocks::bring() {
  const std::uint64_t size = std::uint64_t(call_.omni.block) * size_of(call_.type);
  const std::uint64_t max_blocks = std::max<std::uint64_t>(max_copy / size, 1);
  while (asked_ < blocks_ && under_way_.size() < window) {
    while (asked_ < blocks_ && !(*this)[asked_]) ++asked_;
    const std::uint64_t begin = asked_;
    while (asked_ < blocks_ && asked_ - begin < max_blocks && (*this)[asked_]) ++asked_;
    if (begin == asked_) return;  // nothing but zeros up to the end
    const std::uint64_t end = std::min(asked_ * size, call_.bytes());
    Result<void> told = data_.down(begin * size, end - begin * size);
    if (told) told = data_.down_stream().record(*landed_[(first_ + under_way_.size()) % window]);
    if (!good(told)) return;
    under_way_.push_back(asked_);
  }
}

}  // namespace ringtrue::engine
