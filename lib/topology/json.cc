#include "topology/json.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "topology/fields.h"
#include "topology/links.h"

namespace ringtrue::topology {
namespace {

using nlohmann::json;

constexpr std::string_view schema = "ringtrue.topo/1";
constexpr std::size_t longest = 64u << 20;
constexpr int deepest = 32;

// ---- writing

// Facts, and other parts that are short, stand on one line.
template <class T>
constexpr bool short_part =
    std::same_as<T, Cache> || std::same_as<T, NumaNode> || std::same_as<T, NvLink> ||
    std::same_as<T, CounterChange> || std::same_as<T, Gap> || std::same_as<T, FabricPort> ||
    std::same_as<T, FabricLink> || std::same_as<T, FabricSwitch> || std::same_as<T, FabricHost> ||
    std::same_as<T, NvSwitch> || std::same_as<T, Link> || std::same_as<T, Counts> || std::same_as<T, PciLink>;

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  template <class T>
  void operator()(const char* key, const char* unit, const T& value) {
    this->key(key);
    put(value, unit);
  }

  void open(char bracket) {
    text_ += bracket;
    ++depth_;
    first_ = true;
  }
  void close(char bracket) {
    --depth_;
    if (!first_) new_line();
    text_ += bracket;
    first_ = false;
  }
  void key(std::string_view name) {
    next();
    put(name);
    text_ += indent_ < 0 ? ":" : ": ";
  }
  std::string take() { return std::move(text_); }

  void put(std::string_view value) {
    text_ += json(value).dump(-1, ' ', false, json::error_handler_t::replace);
  }
  void put(bool value) { text_ += value ? "true" : "false"; }
  // What is whole is written so: a rate of 50000000000, not 5e+10.
  void put(double value) {
    constexpr double exact = 9007199254740992;  // 2^53
    if (std::abs(value) < exact && value == std::floor(value) && !std::signbit(value))
      text_ += std::to_string(std::int64_t(value));
    else
      text_ += json(value).dump();
  }
  template <std::integral T>
  void put(T value) {
    text_ += std::to_string(value);
  }
  void put(Bytes value) { put(value.value); }
  void put(BytesPerSecond value) { put(value.value); }

  template <class T>
  void put(const T& value, const char* unit) {
    if constexpr (is_fact<T>) {
      put_fact(value, unit);
    } else if constexpr (is_optional<T>) {
      value ? put(*value, unit) : void(text_ += "null");
    } else if constexpr (is_vector<T>) {
      open('[');
      for (const auto& item : value) {
        next();
        put(item, unit);
      }
      close(']');
    } else if constexpr (std::is_enum_v<T>) {
      put(std::string_view(keys_of<T>[std::size_t(value)]));
    } else if constexpr (std::same_as<T, std::map<std::string, std::uint64_t>>) {
      open('{');
      for (const auto& [name, count] : value) {
        key(name);
        put(count);
      }
      close('}');
    } else if constexpr (requires { put(value); }) {
      put(value);
    } else {
      put_part(value);
    }
  }

 private:
  template <class T>
  void put_fact(const Fact<T>& fact, const char* unit) {
    if (!fact.known() && fact.origin == origin::unknown) {
      text_ += "null";
      return;
    }
    const bool outer = std::exchange(inline_, true);
    open('{');
    key("value");
    put(fact.value, "");
    key("unit");
    *unit ? put(std::string_view(unit)) : void(text_ += "null");
    key("origin");
    put(fact.origin);
    close('}');
    inline_ = outer;
  }

  template <class T>
  void put_part(const T& part) {
    const bool outer = std::exchange(inline_, inline_ || short_part<T>);
    open('{');
    members(part);
    close('}');
    inline_ = outer;
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
  void members(const Link& link) {
    (*this)("kind", "", std::string(name(link.kind)));
    (*this)("from", "", link.from);
    (*this)("to", "", link.to);
    (*this)("count", "", link.count);
    (*this)("rate", "B/s", link.rate);
    (*this)("max_rate", "B/s", link.max_rate);
    (*this)("text", "", link.text);
    (*this)("up", "", link.up);
  }
  void members(const Counts& c) {
    const std::pair<const char*, int> all[] = {{"nodes", c.nodes},
                                               {"gpus", c.gpus},
                                               {"nics", c.nics},
                                               {"virtual_nics", c.virtual_nics},
                                               {"ports", c.ports},
                                               {"nvlinks", c.nvlinks},
                                               {"nvlinks_up", c.nvlinks_up},
                                               {"nvswitches", c.nvswitches},
                                               {"pcie_switches", c.pcie_switches},
                                               {"fabric_switches", c.fabric_switches},
                                               {"fabric_hosts", c.fabric_hosts},
                                               {"trunks", c.trunks}};
    for (const auto& [key, count] : all) (*this)(key, "", count);
  }

  void next() {
    if (!first_) text_ += inline_ && indent_ >= 0 ? ", " : ",";
    first_ = false;
    new_line();
  }
  void new_line() {
    if (inline_ || indent_ < 0) return;
    text_ += '\n';
    text_.append(std::size_t(depth_ * indent_), ' ');
  }

  int indent_, depth_ = 0;
  bool inline_ = false, first_ = true;
  std::string text_;
};

// ---- reading

// Reads a part's fields; the first that does not fit ends it. What is missing stays as it was, and what is
// not known is passed over: documents of later versions say more.
class Reader {
 public:
  explicit Reader(const json& from) : at_(&from) {}
  const std::string& wrong() const { return wrong_; }  // "nodes/0/name: not a text"; empty: nothing

  template <class T>
  void operator()(const char* key, const char* unit, T& value) {
    if (!wrong_.empty()) return;
    const auto it = at_->find(key);
    if (it == at_->end()) return;
    const json* here = std::exchange(at_, &*it);
    get(value, unit);
    at_ = here;
    if (!wrong_.empty()) wrong_ = key + ((wrong_[0] == ':' ? "" : "/") + wrong_);
  }

  template <class T>
  void get(T& value, const char* unit) {
    if constexpr (is_fact<T>) {
      get_fact(value, unit);
    } else if constexpr (is_optional<T>) {
      if (!at_->is_null()) get(value.emplace(), unit);
    } else if constexpr (is_vector<T>) {
      get_all(value, unit);
    } else if constexpr (std::is_enum_v<T>) {
      get_key(value);
    } else if constexpr (std::same_as<T, std::map<std::string, std::uint64_t>>) {
      if (!at_->is_object()) return complain("not an object");
      for (const auto& [name, count] : at_->items()) {
        if (!count.is_number_unsigned()) return complain("a count that is no whole number");
        value.emplace_hint(value.end(), name, count.template get<std::uint64_t>());
      }
    } else if constexpr (std::same_as<T, Bytes> || std::same_as<T, BytesPerSecond>) {
      get(value.value, unit);
    } else if constexpr (std::same_as<T, std::string>) {
      if (!at_->is_string()) return complain("not a text");
      value = at_->get_ref<const std::string&>();
    } else if constexpr (std::same_as<T, bool>) {
      if (!at_->is_boolean()) return complain("neither true nor false");
      value = at_->get<bool>();
    } else if constexpr (std::same_as<T, double>) {
      if (!at_->is_number()) return complain("not a number");
      value = at_->get<double>();
    } else if constexpr (std::integral<T>) {
      get_whole(value);
    } else {
      if (!at_->is_object()) return complain("not an object");
      fields(*this, value);
    }
  }

 private:
  void complain(std::string_view what) { wrong_ = fmt::format(": {}", what); }

  template <class T>
  void get_whole(T& value) {
    constexpr auto most = std::uint64_t(std::numeric_limits<T>::max());
    if (at_->is_number_unsigned() && at_->get<std::uint64_t>() <= most)
      value = at_->get<T>();
    else if (std::is_signed_v<T> && at_->is_number_integer() && !at_->is_number_unsigned() &&
             at_->get<std::int64_t>() >= std::int64_t(std::numeric_limits<T>::min()))
      value = at_->get<T>();
    else
      complain("not a whole number, or too large");
  }

  template <class E>
  void get_key(E& value) {
    for (std::size_t i = 0; at_->is_string() && i < std::size(keys_of<E>); ++i) {
      if (at_->get_ref<const std::string&>() != keys_of<E>[i]) continue;
      value = E(i);
      return;
    }
    complain("a kind that is not known");
  }

  template <class T>
  void get_fact(Fact<T>& fact, const char* unit) {
    if (at_->is_null()) return;
    if (!at_->is_object()) return complain("neither null nor an object with value, unit and origin");
    // 400 Gbit/s taken for 400 bytes per second would be a fact that nobody told.
    if (const auto it = at_->find("unit"); it != at_->end() && !it->is_null() && *it != unit)
      return complain(*unit ? fmt::format("not in {}", unit) : "has a unit");
    (*this)("value", unit, fact.value);
    (*this)("origin", unit, fact.origin);
  }

  template <class T>
  void get_all(std::vector<T>& all, const char* unit) {
    if (!at_->is_array()) return complain("not an array");
    const json& items = *at_;
    for (std::size_t i = 0; i < items.size() && wrong_.empty(); ++i) {
      at_ = &items[i];
      get(all.emplace_back(), unit);
      if (!wrong_.empty()) wrong_ = fmt::format("/{}{}{}", i, wrong_[0] == ':' ? "" : "/", wrong_);
    }
    at_ = &items;
    if (!wrong_.empty()) wrong_.erase(0, 1);
  }

  const json* at_;
  std::string wrong_;
};

// Brackets outside of texts: the parser itself goes as deep as it is led.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > deepest) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

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
  if (text.size() > longest) return refuse("a topo document longer than 64 MiB");
  if (too_deep(text)) return refuse(fmt::format("a topo document that nests deeper than {}", deepest));
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return refuse("not JSON");
  const auto says = document.is_object() ? document.find("schema") : document.end();
  if (says == document.end() || *says != schema)
    return refuse(fmt::format("no topo document: its \"schema\" is not \"{}\"", schema));
  const auto nodes = document.find("nodes"), fabric = document.find("fabric");
  if (nodes == document.end() && fabric == document.end())
    return refuse("a topo document without nodes and fabric");
  Cluster cluster;
  Reader reader(document);
  reader.get(cluster, "");
  if (!reader.wrong().empty()) return refuse("topo document, " + reader.wrong());
  return cluster;
}

}  // namespace ringtrue::topology
