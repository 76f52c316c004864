#include "operator/simulate.h"

#include <fmt/format.h>

#include "base/fields_json.h"
#include "base/file.h"
#include "collective/algorithm.h"
#include "sim/calibrate.h"

namespace ringtrue::ops {
namespace {

using Json = nlohmann::json;

constexpr std::size_t max_bytes = std::size_t(256) << 20, max_samples = 64;
constexpr int max_ranks = 1024, max_depth = 32;
constexpr std::uint64_t max_call = std::uint64_t(16) << 30;

tl::unexpected<Error> bad(std::string what, const std::string& file) {
  return fail(Cause::bad_input, std::move(what), file,
              "give what `ringtrue run ... --from 64K --to 256M --json` printed");
}

// A field of a type that fits, or nullopt.
template <class T>
std::optional<T> field(const Json& object, const char* name) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(name);
  if (found == object.end()) return std::nullopt;
  if constexpr (std::is_same_v<T, std::string>) {
    if (found->is_string()) return found->get<std::string>();
  } else if constexpr (std::is_same_v<T, double>) {
    if (found->is_number()) return found->get<double>();
  } else {
    if (found->is_number_unsigned()) return found->get<T>();
  }
  return std::nullopt;
}

Result<Json> read(const std::string& file) {
  const auto text = read_file(file, max_bytes, FileKind::regular);
  if (!text) return bad(fmt::format("cannot be read: {}", text.error().what), file);
  auto document = parse_json(*text, max_bytes, max_depth, "JSON of a run");
  if (!document || !document->is_object()) return bad("is not the JSON of a run", file);
  return document;
}

}  // namespace

Result<Calibrated> calibrate_by(const std::string& file, const collective::Call& call, bool shape_given,
                                sim::Fabric& fabric) {
  const auto document = read(file);
  if (!document) return tl::unexpected(document.error());
  const auto schema = field<std::string>(*document, "schema");
  if (schema && !schema->starts_with("ringtrue.run/") && !schema->starts_with("ringtrue.simulate/"))
    return bad(fmt::format("is {}, not what run or simulate printed", schema->substr(0, 40)), file);
  const auto results = document->find("results");
  if (results == document->end() || !results->is_array()) return bad("has no results", file);
  std::vector<sim::Sample> samples;
  std::uint64_t ranks = 0;
  for (const Json& result : *results) {
    const auto name = field<std::string>(result, "algorithm");
    const auto bytes = field<std::uint64_t>(result, "bytes"), of = field<std::uint64_t>(result, "ranks");
    const auto type = field<std::string>(result, "type");
    if (!name || !bytes || !of || !type)
      return bad("has a result without algorithm, bytes, ranks or type", file);
    const auto algorithm = collective::find_algorithm(*name);
    const auto known = collective::parse_type(*type);
    const auto time = result.contains("time_s") ? field<double>(result["time_s"], "median") : std::nullopt;
    if (!algorithm || !known) return bad("has a result of an unknown algorithm or type", file);
    if (!time || *bytes == 0 || (*algorithm)->uses_packets()) continue;
    const double took = *time;
    if (*of < 2 || *of > max_ranks || *bytes > max_call || (ranks > 0 && *of != ranks))
      return bad(
          fmt::format("has results of other than 2 to {} ranks, or of different numbers of them", max_ranks),
          file);
    if (took < 1e-9 || took > 1e6)
      return bad(fmt::format("has a result that took {} s, not between 1 ns and a million seconds", took),
                 file);
    ranks = *of;
    collective::Call played = call;
    played.type = *known;
    played.elements = *bytes / size_of(*known);
    samples.push_back({*algorithm, played, Seconds(took)});
    if (samples.size() > max_samples) return bad(fmt::format("has more than {} results", max_samples), file);
  }
  if (samples.empty()) return bad("has no result with a time", file);
  if (!shape_given) {
    const auto nodes = document->find("nodes");
    const bool told =
        nodes != document->end() && nodes->is_array() && !nodes->empty() && ranks % nodes->size() == 0;
    fabric.nodes = told ? int(nodes->size()) : int(ranks);
    fabric.ranks_per_node = int(ranks) / fabric.nodes;
  }
  if (std::uint64_t(fabric.nodes) * std::uint64_t(fabric.ranks_per_node) != ranks)
    return bad(fmt::format("is of {} ranks, the fabric of {}", ranks, fabric.nodes * fabric.ranks_per_node),
               file);
  auto fitted = sim::calibrate(samples, fabric);
  if (!fitted) return tl::unexpected(fitted.error());
  (fabric.nodes > 1 ? fabric.inter : fabric.intra) = fitted->cost;
  fabric.bucket = fitted->bucket;
  const bool of_model = schema && schema->starts_with("ringtrue.simulate/");
  const auto& [cost, bucket, simulated, worst] = *fitted;
  Calibrated out{file, of_model, cost.latency, cost.overhead, cost.rate, bucket, worst, {}};
  for (std::size_t i = 0; i < samples.size(); ++i)
    out.samples.push_back(
        {std::string(samples[i].algorithm->name), samples[i].call.bytes(), samples[i].time, simulated[i]});
  return out;
}

}  // namespace ringtrue::ops
