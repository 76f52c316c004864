#include "operator/bitmaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/plural.h"
#include "collective/omnireduce/omnireduce.h"

namespace ringtrue::ops {
namespace {

using Json = nlohmann::json;

constexpr std::size_t max_workers = 4096;
constexpr std::size_t max_bytes = std::size_t(256) << 20;

tl::unexpected<Error> bad(std::string what, std::string_view file) {
  return fail(Cause::bad_input, std::move(what), std::string(file),
              "a bitmap file holds one row a worker: [[1, 0, 1], [0, 0, 1]]");
}

// Fills `row`; what is wrong with it, or "".
std::string read_row(const Json& value, std::size_t worker, std::vector<bool>& row) {
  if (!value.is_array()) return fmt::format("row {} is not an array", worker);
  row.reserve(value.size());
  for (const Json& cell : value) {
    if (cell.is_boolean()) {
      row.push_back(cell.get<bool>());
    } else if (cell.is_number_integer() && (cell == 0 || cell == 1)) {
      row.push_back(cell == 1);
    } else {
      // What lies deep would take the printer as deep.
      const std::string shown = cell.is_structured()
                                    ? cell.type_name()
                                    : cell.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 20);
      return fmt::format("row {} holds {} at {}, not 0 or 1", worker, shown, row.size());
    }
  }
  return "";
}

// Whether all values are zero; -0.0 is.
bool all_zero(collective::Type type, const std::byte* data, std::uint64_t count) {
  const std::size_t unit = size_of(type);
  const bool integer = type == collective::Type::int32 || type == collective::Type::int64;
  for (std::size_t i = 0; i < count * unit; ++i) {
    const bool sign = !integer && i % unit == unit - 1;  // little endian: the last byte's highest bit
    if ((data[i] & std::byte(sign ? 0x7f : 0xff)) != std::byte{}) return false;
  }
  return true;
}

}  // namespace

Result<Bitmaps> read_bitmaps(const std::string& file) {
  const auto text = read_file(file, max_bytes, FileKind::regular);
  if (!text && text.error().code == EFBIG) return bad(fmt::format("more than {} bytes", max_bytes), file);
  if (!text) return fail(Cause::bad_input, fmt::format("cannot be read: {}", text.error().what), file);
  const Json value = Json::parse(*text, nullptr, false);
  if (value.is_discarded()) return bad("this is not JSON", file);
  if (!value.is_array()) return bad("this is not an array of rows", file);
  if (value.empty()) return bad("there is no row, so no worker", file);
  if (value.size() > max_workers) {
    return bad(fmt::format("{} workers are more than {}", value.size(), max_workers), file);
  }
  Bitmaps rows(value.size());
  for (std::size_t worker = 0; worker < rows.size(); ++worker) {
    const std::string wrong = read_row(value[worker], worker, rows[worker]);
    if (!wrong.empty()) return bad(wrong, file);
    if (rows[worker].size() != rows[0].size()) {
      return bad(fmt::format("row {} has {}, row 0 has {}", worker, plural(rows[worker].size(), "block"),
                             rows[0].size()),
                 file);
    }
  }
  if (rows[0].empty()) return bad("the rows are empty", file);
  return rows;
}

Result<collective::Call> call_of(const Bitmaps& bitmaps, const OmniRequest& flags) {
  collective::Call call;
  call.omni.workers = collective::Rank(bitmaps.size());
  call.omni.aggregators = flags.aggregators.value_or(1);
  call.omni.block = flags.block.value_or(1);
  call.omni.streams = flags.streams.value_or(1);
  call.omni.fusion = flags.fusion.value_or(1);
  call.omni.acked = flags.acked;
  call.elements = bitmaps[0].size() * call.omni.block;
  const auto layout = collective::Layout::uniform(int(call.omni.workers + call.omni.aggregators), 1);
  if (auto fits = collective::check_omni(layout, call); !fits) return tl::unexpected(fits.error());
  return call;
}

Bitmaps bitmaps_of(const run::Input& input, std::uint64_t block) {
  Bitmaps out;
  const std::uint64_t size = size_of(input.type);
  for (const auto& row : input.rows) {
    std::vector<bool>& bitmap = out.emplace_back();
    for (std::uint64_t at = 0; at < input.elements; at += block) {
      const std::uint64_t count = std::min(block, input.elements - at);
      bitmap.push_back(!all_zero(input.type, row.data() + at * size, count));
    }
  }
  return out;
}

void add_non_zero(const run::Input& input, collective::Rank worker, std::uint64_t begin, std::uint64_t end,
                  std::vector<std::uint64_t>& elements) {
  const std::byte* row = input.row(worker).data();
  const std::uint64_t size = size_of(input.type);
  for (std::uint64_t i = begin; i < end; ++i) {
    if (!all_zero(input.type, row + i * size, 1)) elements.push_back(i);
  }
}

collective::Densities densities_of(const Bitmaps& bitmaps) {
  if (bitmaps[0].empty()) return {};
  std::vector<bool> any(bitmaps[0].size());
  std::size_t max = 0;
  for (const auto& row : bitmaps) {
    max = std::max(max, std::size_t(std::count(row.begin(), row.end(), true)));
    for (std::size_t k = 0; k < row.size(); ++k) any[k] = any[k] || row[k];
  }
  const double blocks = double(any.size());
  return {double(max) / blocks, double(std::count(any.begin(), any.end(), true)) / blocks};
}

sim::HasBlock has_block(const Bitmaps& bitmaps) {
  return [&bitmaps](collective::Rank worker, std::uint64_t block) {
    return bool(bitmaps[bitmaps.size() == 1 ? 0 : std::size_t(worker)][block]);
  };
}

}  // namespace ringtrue::ops
