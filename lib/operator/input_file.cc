#include "operator/input_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "base/file.h"
#include "base/memory.h"
#include "base/plural.h"
#include "base/units.h"
#include "operator/npy.h"

namespace ringtrue::ops {
namespace {

constexpr std::string_view rank_mark = "{rank}";
constexpr std::uint64_t max_file = std::uint64_t(1) << 36;

// A file of a few bytes can ask for an array of any length: its largest key says how long.
std::uint64_t max_bytes() {
  return std::min(max_file, available_memory().value_or(max_file) / 2);
}

Result<std::string> bytes_of(const std::string& path) {
  auto bytes = read_file(path, max_bytes(), FileKind::regular);
  if (bytes) return *std::move(bytes);
  const int code = bytes.error().code;
  const std::string why =
      code == EISDIR || code == EINVAL ? "it is not a file"
      : code == EFBIG
          ? fmt::format("it is longer than {}, half of the memory that is free", to_text(Bytes(max_bytes())))
          : bytes.error().what;
  return fail(Cause::bad_input, fmt::format("cannot read {}: {}", path, why));
}

// One file: `rows` rows of values.
struct Loaded {
  collective::Type type = collective::Type::float32;
  bool pairs = false;
  std::uint64_t rows = 1;
  std::uint64_t unlike = 0;  // rows of a table that has not one a worker
  std::vector<std::byte> values;
};

Result<Loaded> load(const std::string& path, int workers) {
  auto bytes = bytes_of(path);
  if (!bytes) return tl::unexpected(bytes.error());
  const auto at = [&](Error error) {
    error.where = path;
    return tl::unexpected(std::move(error));
  };
  auto npy = parse_npy(std::as_bytes(std::span(*bytes)));
  if (!npy) return at(npy.error());
  auto type = collective::parse_type(npy->type);
  if (!type) return at(type.error());
  Loaded loaded;
  loaded.type = *type;
  loaded.pairs = npy->pairs;
  if (npy->shape.size() == 2 && workers > 0)
    (npy->shape[0] == std::uint64_t(workers) ? loaded.rows : loaded.unlike) = npy->shape[0];
  auto values = dense_values(*npy, std::nullopt, max_bytes());
  if (!values) return at(values.error());
  loaded.values = std::move(*values);
  return loaded;
}

}  // namespace

Result<OwnData> input_of(const std::string& name, int workers, std::optional<collective::Type> type) {
  OwnData out;
  std::vector<std::string> paths = {name};
  if (const std::size_t mark = name.find(rank_mark); mark != std::string::npos) {
    paths.clear();
    for (int w = 0; w < workers; ++w) {
      paths.push_back(name);
      paths.back().replace(mark, rank_mark.size(), std::to_string(w));
    }
  }
  std::vector<Loaded> files;
  std::uint64_t length = 0;
  for (const std::string& path : paths) {
    auto file = load(path, name.find(rank_mark) != std::string::npos ? 0 : workers);
    if (!file) return tl::unexpected(file.error());
    if (type && *type != file->type) {
      return fail(Cause::bad_input,
                  fmt::format("{} holds {}, not {}", path, key_of(file->type), key_of(*type)), {},
                  "leave --type out, or convert the file");
    }
    if (file->unlike > 0) {
      out.note = fmt::format("{} has {} for {}: all of it is every worker's data", path,
                             plural(file->unlike, "row"), plural(workers, "worker"));
    }
    length = std::max<std::uint64_t>(length, file->values.size());
    files.push_back(std::move(*file));
  }
  auto input = std::make_shared<run::Input>();
  for (std::size_t i = 0; i < files.size(); ++i) {
    Loaded& file = files[i];
    if (file.type != files[0].type) {
      return fail(Cause::bad_input,
                  fmt::format("{} and {} hold values of different types", paths[0], paths[i]));
    }
    // The pairs of one file say nothing of how far the keys of the others go.
    if (file.pairs && file.values.size() < length) file.values.resize(length, std::byte{});
    if (file.values.size() != length) {
      return fail(Cause::bad_input,
                  fmt::format("{} and {} hold different numbers of values", paths[0], paths[i]));
    }
  }
  input->type = files[0].type;
  const std::uint64_t size = size_of(input->type);
  if (files.size() > 1 || files[0].rows == 1) {
    for (Loaded& file : files) input->rows.push_back(std::move(file.values));
  } else {
    const auto& all = files[0].values;
    const std::uint64_t row = all.size() / files[0].rows;
    for (std::uint64_t r = 0; r < files[0].rows; ++r)
      input->rows.emplace_back(all.begin() + std::ptrdiff_t(r * row),
                               all.begin() + std::ptrdiff_t((r + 1) * row));
  }
  input->elements = input->rows[0].size() / size;
  out.input = std::move(input);
  return out;
}

std::uint64_t negative_zeros(const run::Input& input) {
  if (input.type == collective::Type::int32 || input.type == collective::Type::int64) return 0;
  const std::size_t unit = size_of(input.type);
  std::uint64_t found = 0;
  for (const std::vector<std::byte>& row : input.rows) {
    for (std::size_t at = 0; at + unit <= row.size(); at += unit) {
      // Little endian: the sign is the last byte's highest bit, and nothing else is set.
      if (row[at + unit - 1] != std::byte{0x80}) continue;
      found += std::all_of(row.begin() + std::ptrdiff_t(at), row.begin() + std::ptrdiff_t(at + unit - 1),
                           [](std::byte b) { return b == std::byte{0}; });
    }
  }
  return found;
}

}  // namespace ringtrue::ops
