// Which blocks of a rank's data on a GPU are not zero: its kernel looks for them, and those alone come down.
// A block is known once it is in the host's memory, or is zero.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "collective/packets.h"
#include "engine/device/data.h"

namespace ringtrue::engine {

class DeviceBlocks final : public collective::NonZeroBlocks {
 public:
  // `failed`: told of an error, after which nothing more gets known.
  static Result<std::unique_ptr<DeviceBlocks>> make(DeviceData& data, const collective::Call& call,
                                                    std::function<void(Error)> failed);
  ~DeviceBlocks() override;

  void start();  // a call

  std::uint64_t blocks() const override { return blocks_; }
  std::uint64_t known() const override { return known_; }
  bool operator[](std::uint64_t block) const override { return words_[block / 32] >> (block % 32) & 1; }
  void look_further() override;
  void values(std::uint64_t block, std::vector<std::uint64_t>& elements) const override;

 private:
  DeviceBlocks(DeviceData& data, const collective::Call& call, std::function<void(Error)> failed)
      : data_(data), call_(call), failed_(std::move(failed)) {}
  void bring();  // runs of blocks, until enough is under way
  bool good(const Result<void>& result);

  DeviceData& data_;
  const collective::Call& call_;
  std::function<void(Error)> failed_;
  std::unique_ptr<transport::cuda::Memory> map_, found_;  // on the GPU; pinned
  const std::uint32_t* words_ = nullptr;
  std::vector<std::unique_ptr<transport::cuda::Event>> landed_;
  std::uint64_t blocks_ = 0, known_ = 0, asked_ = 0;
  std::deque<std::uint64_t> under_way_;  // where each copy's run ends
  std::size_t first_ = 0;                // its event
  bool looked_ = false;                  // the map is here
};

}  // namespace ringtrue::engine
