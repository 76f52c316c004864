#include "topology/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/fields_json.h"
#include "run/counter_window.h"
#include "topology/fields.h"
#include "topology/links.h"

namespace ringtrue::topology {
namespace {

using nlohmann::json;

constexpr std::string_view schema = "ringtrue.topo/1";
constexpr std::size_t max_bytes = 64u << 20;
constexpr int max_depth = 32;

// ---- writing

// Facts, and other parts that are short, stand on one line.
template <class T>
constexpr bool short_part =
    std::same_as<T, Cache> || std::same_as<T, NumaNode> || std::same_as<T, NvLink> ||
    std::same_as<T, run::CounterChange> || std::same_as<T, Gap> || std::same_as<T, FabricPort> ||
    std::same_as<T, FabricLink> || std::same_as<T, FabricSwitch> || std::same_as<T, FabricHost> ||
    std::same_as<T, NvSwitch> || std::same_as<T, Link> || std::same_as<T, Counts> || std::same_as<T, PciLink>;

struct Writer : JsonWriter<Writer> {
  using JsonWriter::JsonWriter;

  template <class T>
  void put_special(const Fact<T>& fact, const About& about) {
    if (!fact.known() && fact.origin == origin::unknown) return null();
    const bool outer = in_line(true);
    open('{');
    key("value");
    put(fact.value, "");
    key("unit");
    *about.unit ? put(std::string_view(about.unit)) : null();
    key("origin");
    put(fact.origin);
    close('}');
    in_line(outer);
  }
  template <class T>
  requires short_part<T>
  void put_special(const T& part, const About&) {
    const bool outer = in_line(true);
    open('{');
    members(part);
    close('}');
    in_line(outer);
  }

  template <Part T>
  void members(const T& part) {
    fields(*this, part);
  }
  void members(const Node& node) {
    fields(*this, node);
    (*this)("links", "", links(node));
    (*this)("counts", "", counts(node));
  }
  void members(const Fabric& fabric) {
    fields(*this, fabric);
    std::vector<FabricLink> between;
    for (const FabricLink* link : trunks(fabric)) between.push_back(*link);
    (*this)("trunks", "", between);
  }
  void members(const Cluster& cluster) {
    (*this)("schema", "", std::string(schema));
    (*this)("counts", "", counts(cluster));
    fields(*this, cluster);
  }
};

// ---- reading

struct Reader : JsonReader<Reader> {
  using JsonReader::JsonReader;

  template <class T>
  void get_special(Fact<T>& fact, const About& about) {
    if (at().is_null()) return;
    if (!at().is_object()) return complain("neither null nor an object with value, unit and origin");
    // 400 Gbit/s taken for 400 bytes per second would be a fact that nobody told.
    if (const auto it = at().find("unit"); it != at().end() && !it->is_null() && *it != about.unit)
      return complain(*about.unit ? fmt::format("not in {}", about.unit) : "has a unit");
    (*this)("value", about, fact.value);
    (*this)("origin", "", fact.origin);
  }
};

tl::unexpected<Error> refuse(std::string what) {
  return fail(Cause::bad_input, std::move(what));
}

}  // namespace

std::string to_json(const Cluster& cluster, int indent) {
  Writer writer(indent);
  writer.put(cluster, "");
  return writer.take();
}

Result<Cluster> from_json(std::string_view text) {
  const auto parsed = parse_json(text, max_bytes, max_depth, "a topo document");
  if (!parsed) return tl::unexpected(parsed.error());
  const json& document = *parsed;
  const auto says = document.is_object() ? document.find("schema") : document.end();
  if (says == document.end() || *says != schema)
    return refuse(fmt::format("no topo document: its \"schema\" is not \"{}\"", schema));
  const auto nodes = document.find("nodes"), fabric = document.find("fabric");
  if (nodes == document.end() && fabric == document.end())
    return refuse("a topo document without nodes and fabric");
  Cluster cluster;
  Reader reader(document, false);
  reader.get(cluster, "");
  if (!reader.wrong().empty()) return refuse("topo document, " + reader.wrong());
  return cluster;
}

}  // namespace ringtrue::topology
