#include "operator/omni_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "operator/bitmaps.h"

namespace ringtrue::ops {
namespace {

constexpr std::uint32_t weighed_block = 256;

// One worker stands for all where all hold the same.
collective::Rank unlike_workers(const run::Job& job) {
  const bool alike = job.input ? job.input->rows.size() == 1
                               : job.sparsity.overlap == collective::Overlap::same || job.sparsity.dense();
  return alike ? 1 : job.workers();
}

// Why it has to be blocks, whatever the data; empty: it need not.
std::string why_blocks(const OmniRequest& flags, const run::Job& job) {
  if (job.memory == run::Memory::device) return "data on GPUs goes in blocks";
  if (flags.fusion) return "--fusion is about blocks";
  return {};
}

}  // namespace

collective::ValuesIn values_of(const run::Job& job) {
  if (job.input) {
    return [input = job.input](collective::Rank worker, std::uint64_t begin, std::uint64_t end,
                               std::vector<std::uint64_t>& elements) {
      add_non_zero(*input, worker, begin, end, elements);
    };
  }
  return collective::values_in(collective::SparsePattern(job.sparsity, job.call.elements, job.seed),
                               job.sparsity.block);
}

Result<FormatChoice> format_of(const OmniRequest& flags, const run::Job& job, Placement placement) {
  FormatChoice out;
  const FormatRequest asked = flags.format.value_or(FormatRequest::block);
  if (asked == FormatRequest::block) return out;
  const std::string blocks = why_blocks(flags, job);
  if (asked == FormatRequest::automatic && !blocks.empty()) {
    out.why = blocks;
    return out;
  }
  if (!blocks.empty())
    return fail(Cause::bad_input, "--format pairs is for data in host memory, and this is on GPUs", {},
                "leave out --format, or --memory device");
  const std::uint32_t needed = collective::key_bytes_for(job.call.elements);
  const auto keys = std::uint32_t(flags.key_bytes.value_or(int(needed)));
  if (keys < needed)
    return fail(Cause::bad_input, fmt::format("keys of 4 bytes cannot number {} elements", job.call.elements),
                {}, "use --key-bytes 8, or leave it out");
  collective::Call call = job.call;
  call.omni.block = flags.block.value_or(weighed_block);
  run::Job data = job;
  data.sparsity.block = call.omni.block;
  out.held = collective::held(values_of(data), call.elements, unlike_workers(data), call.omni.block);
  out.key_bytes = keys;
  if (asked == FormatRequest::pairs) return out;
  collective::Weighed weighed = collective::weigh(*out.held, call, keys, placement == Placement::colocated);
  out.why = std::move(weighed.why);
  if (!weighed.pairs) out.key_bytes = 0;
  return out;
}

}  // namespace ringtrue::ops
