// The text of ibnetdiscover: blocks of nodes with a line for each port that has a cable,
//
//   Switch  36 "S-248a0703006d1a80"   # "leaf1" enhanced port 0 lid 3 lmc 0
//   [1]     "H-248a0703004e6fd6"[1](248a0703004e6fd6)   # "node3 HCA-1" lid 5 4xEDR
//   Ca      1 "H-248a0703004e6fd6"    # "node3 HCA-1"
//   [1](248a0703004e6fd6)   "S-248a0703006d1a80"[1]     # lid 5 lmc 0 "leaf1" lid 3 4xEDR
//
// or, with -p, a line for each port and none for nodes:
//
//   SW   3  1 0x248a0703006d1a80 4x EDR - CA   5  1 0x248a0703004e6fd6 ( 'leaf1' - 'node3 HCA-1' )
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "formats/format.h"
#include "formats/text.h"
#include "topology/links.h"

namespace ringtrue::formats {
namespace {

using namespace topology;

constexpr int max_ports = 1024, max_links = 1'000'000;

tl::unexpected<Error> bad(std::string what) {
  return fail(Cause::bad_input, "not the output of ibnetdiscover: " + std::move(what));
}

// Takes a line apart from left to right.
class Words {
 public:
  explicit Words(std::string_view text) : text_(trim(text)) {}
  bool empty() const { return text_.empty(); }
  std::string_view rest() const { return text_; }
  bool take(std::string_view what) {
    if (!text_.starts_with(what)) return false;
    text_ = trim(text_.substr(what.size()));
    return true;
  }
  std::string_view word() {
    const std::size_t end = std::min(text_.find_first_of(" \t"), text_.size());
    const std::string_view result = text_.substr(0, end);
    text_ = trim(text_.substr(end));
    return result;
  }
  // What stands between `open` and the next `close`; empty where it does not begin with that.
  std::string_view within(char open, char close) {
    if (text_.empty() || text_[0] != open) return {};
    const std::size_t end = text_.find(close, 1);
    if (end == std::string_view::npos) return {};
    const std::string_view result = text_.substr(1, end - 1);
    text_ = trim(text_.substr(end + 1));
    return result;
  }
  // The same with the last `close` of the line, for names that hold quotes.
  std::string_view within_last(char quote) {
    const std::size_t first = text_.find(quote), last = text_.rfind(quote);
    if (first == std::string_view::npos || first == last) return {};
    const std::string_view result = text_.substr(first + 1, last - first - 1);
    text_ = trim(text_.substr(last + 1));
    return result;
  }
  std::optional<int> number() {
    const auto value = decimal(word());
    return value && *value <= 1'000'000 ? std::optional(static_cast<int>(*value)) : std::nullopt;
  }

 private:
  std::string_view text_;
};

std::optional<std::string> guid(std::string_view text) {
  const auto value = hexadecimal(text);
  return value && *value != 0 ? std::optional(hex64(*value)) : std::nullopt;
}

std::optional<int> port_number(std::string_view text) {
  const auto value = decimal(text);
  return value && *value <= max_ports ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

struct Cable {
  Fact<std::string> speed;
  Fact<int> width;
};

// "4xEDR", "4x" and "EDR"; "???" is unknown.
Cable cable(std::string_view width, std::string_view speed) {
  Cable result;
  if (width.ends_with('x')) width.remove_suffix(1);
  if (const auto lanes = decimal(width); lanes && *lanes >= 1 && *lanes <= 12)
    result.width = {static_cast<int>(*lanes), origin::fabric};
  if (!speed.empty() && speed.find('?') == std::string_view::npos && speed != "unknown" && speed.size() <= 8)
    result.speed = {std::string(speed), origin::fabric};
  return result;
}
Cable cable(std::string_view both) {
  const std::size_t x = both.find('x');
  return x == std::string_view::npos ? Cable{} : cable(both.substr(0, x), both.substr(x + 1));
}

// What a shell wrote into the same file: a prompt, and perhaps the command behind it. "[root@head ~]#
// ibnetdiscover"
bool is_prompt(std::string_view line) {
  if (line.size() > 1 && line[0] == '[' && line[1] >= '0' && line[1] <= '9') return false;  // a port
  const std::string_view before = trim(line.substr(0, line.find("ibnetdiscover")));
  constexpr std::string_view commands[] = {"", "sudo", "/usr/sbin/", "sudo /usr/sbin/"};
  for (const std::string_view command : commands) {
    if (!before.ends_with(command)) continue;
    const std::string_view prompt = trim(before.substr(0, before.size() - command.size()));
    if (prompt.empty() ? before.size() < line.size() : std::string_view("#$>%").find(prompt.back()) < 4)
      return true;
  }
  return false;
}

class Reader {
 public:
  Result<Fabric> run(std::string_view text) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    for (std::string_view line : split(text, '\n')) {
      ++line_;
      const auto read = one(trim(line));
      if (!read) return bad(fmt::format("line {}: {}", line_, read.error().what));
    }
    if (nodes_ == 0) return bad("no switch and no channel adapter");
    return std::move(fabric_);
  }

 private:
  Result<void> one(std::string_view line) {
    Words words(line);
    if (words.empty() || line[0] == '#' || is_prompt(line)) return {};
    if (line[0] == '[') return current_.empty() ? error("a port of no node") : port(words);
    const std::string_view kind = words.word();
    if (kind == "Switch") return node(words, 'S');
    if (kind == "Ca" || kind == "Rt") return node(words, kind == "Ca" ? 'H' : 'R');
    if (kind == "SW" || kind == "CA" || kind == "RT") return listed(words, kind);
    current_.clear();
    // Groupings, and what stands above a node: vendid=, sysimgguid=, switchguid=.
    // Warnings of its library may have come into the same file.
    for (const char* known : {"Chassis", "Non-Chassis", "Spine", "Line", "(Chassis", "ibwarn:", "src/"})
      if (kind.starts_with(known)) return {};
    if (line.find("id=") != std::string_view::npos) return {};
    return error(fmt::format("{:?}", clean(line.substr(0, 60))));
  }

  static tl::unexpected<Error> error(std::string what) { return fail(Cause::bad_input, std::move(what)); }

  // "S-248a0703006d1a80"
  static std::optional<std::pair<char, std::string>> identity(std::string_view text) {
    if (text.size() < 3 || text[1] != '-' || std::string_view("SHR").find(text[0]) == std::string_view::npos)
      return std::nullopt;
    const auto value = guid(text.substr(2));
    return value ? std::optional(std::pair(text[0], *value)) : std::nullopt;
  }

  Result<void> node(Words words, char kind) {
    const auto ports = words.number();
    const auto id = identity(words.within('"', '"'));
    if (!ports || *ports > max_ports || !id || id->first != kind)
      return error("a node without ports and GUID");
    const std::string name = clean(words.within_last('"'));
    current_kind_ = kind;
    current_ = id->second;
    if (kind != 'S') return host(current_, name, {});
    auto known = add_switch(current_, name);
    if (!known) return tl::unexpected(known.error());
    FabricSwitch& added = **known;
    added.ports = *ports;
    while (!words.empty())
      if (words.word() == "lid") {
        if (const auto lid = words.number()) added.lid = {*lid, origin::fabric};
        break;
      }
    return {};
  }

  Result<void> port(Words words) {
    const auto number = port_number(words.within('[', ']'));
    if (!number) return error("a port without a number");
    words.within('[', ']');  // [ext 3]: as the chassis counts
    const std::string_view own = words.within('(', ')');
    const auto id = identity(words.within('"', '"'));
    if (!id)
      return words.rest().empty() || words.rest()[0] == '#' ? Result<void>() : error("a cable to no node");
    const auto remote_number = port_number(words.within('[', ']'));
    if (!remote_number) return error("a cable to no port");
    words.within('[', ']');
    const std::string_view remote_port = words.within('(', ')');
    if (!words.take("#")) return error("a cable without a description");
    const std::string name = clean(words.within_last('"'));
    words.take("lid");
    const auto lid = words.number();
    const Cable found = cable(words.word());
    if (current_kind_ != 'S') note_port(current_, own);
    if (id->first == 'S') {
      auto known = add_switch(id->second, name);
      if (!known) return tl::unexpected(known.error());
      if (lid) (*known)->lid.offer(*lid, origin::fabric);
    } else if (const auto known = host(id->second, name, remote_port); !known) {
      return known;
    }
    if (current_kind_ != 'S' && id->first != 'S') return {};  // back to back: no fabric between them
    return link({current_, *number}, current_kind_ == 'S', {id->second, *remote_number}, id->first == 'S',
                found);
  }

  Result<void> listed(Words words, std::string_view kind) {
    const auto end = [&](std::string_view of) -> std::optional<std::tuple<bool, int, FabricPort>> {
      const auto lid = words.number();
      const auto number = words.number();
      const auto id = guid(words.word());
      if (!lid || !number || *number > max_ports || !id) return std::nullopt;
      return std::tuple(of == "SW", *lid, FabricPort{*id, *number});
    };
    const auto a = end(kind);
    if (!a) return error("a port without LID, number and GUID");
    const std::string_view width = words.word(), speed = words.word();
    const bool connected = words.take("-");
    const auto b = connected ? end(words.word()) : std::nullopt;
    if (connected && !b) return error("a cable to no port");
    const std::string_view names = words.within_last('\'');
    const std::size_t middle = connected ? names.find("' - '") : names.size();
    if (const auto known = listed_node(*a, names.substr(0, middle)); !known) return known;
    if (!b) return {};
    const std::string_view theirs = middle == std::string_view::npos ? "" : names.substr(middle + 5);
    if (const auto known = listed_node(*b, theirs); !known) return known;
    if (!std::get<0>(*a) && !std::get<0>(*b)) return {};
    return link(std::get<2>(*a), std::get<0>(*a), std::get<2>(*b), std::get<0>(*b), cable(width, speed));
  }

  Result<void> listed_node(const std::tuple<bool, int, FabricPort>& end, std::string_view name) {
    const auto& [is_switch, lid, port] = end;
    if (!is_switch) return host(port.guid, clean(name), port.guid);
    auto known = add_switch(port.guid, clean(name));
    if (!known) return tl::unexpected(known.error());
    (*known)->lid.offer(lid, origin::fabric);
    (*known)->ports = std::max((*known)->ports, port.port);
    return {};
  }

  Result<FabricSwitch*> add_switch(const std::string& id, const std::string& name) {
    if (hosts_.contains(id)) return error(fmt::format("{} is a switch and an adapter", id));
    const auto [found, added] = switches_.emplace(id, fabric_.switches.size());
    if (added) {
      if (++nodes_ > max_devices) return error(fmt::format("more than {} nodes", max_devices));
      fabric_.switches.push_back({id, name, 0, {}});
    }
    FabricSwitch& known = fabric_.switches[found->second];
    if (known.name.empty()) known.name = name;
    return &known;
  }

  Result<void> host(const std::string& id, const std::string& name, std::string_view port) {
    if (switches_.contains(id)) return error(fmt::format("{} is a switch and an adapter", id));
    const auto [found, added] = hosts_.emplace(id, fabric_.hosts.size());
    if (added) {
      if (++nodes_ > max_devices) return error(fmt::format("more than {} nodes", max_devices));
      fabric_.hosts.push_back({id, name, {}, lower(name).find("aggregation node") != std::string::npos});
    }
    note_port(id, port);
    return {};
  }

  void note_port(const std::string& id, std::string_view port) {
    FabricHost& known = fabric_.hosts[hosts_.at(id)];
    if (known.port_guid.empty()) known.port_guid = guid(port).value_or("");
  }

  // Both ends tell of the same cable: it is one.
  Result<void> link(FabricPort a, bool a_is_switch, FabricPort b, bool b_is_switch, const Cable& found) {
    const auto order = [](const FabricPort& x, const FabricPort& y) {
      return std::tie(x.guid, x.port) <= std::tie(y.guid, y.port);
    };
    if (!a_is_switch || (b_is_switch && !order(a, b))) std::swap(a, b);
    const auto [known, added] =
        cables_.emplace(std::tuple(a.guid, a.port, b.guid, b.port), fabric_.links.size());
    if (added) {
      if (fabric_.links.size() >= max_links) return error(fmt::format("more than {} cables", max_links));
      fabric_.links.push_back({std::move(a), std::move(b), {}, {}, {}, {}});
    }
    FabricLink& link = fabric_.links[known->second];
    if (!link.speed.known()) link.speed = found.speed;
    if (!link.width.known()) link.width = found.width;
    if (link.speed.known() && link.width.known())
      link.rate.offer(infiniband_rate(*link.speed, *link.width), origin::fabric);
    return {};
  }

  Fabric fabric_;
  int line_ = 0, nodes_ = 0;
  char current_kind_ = 0;
  std::string current_;  // GUID of the node whose ports follow; empty: none
  std::unordered_map<std::string, std::size_t> switches_, hosts_;
  std::map<std::tuple<std::string, int, std::string, int>, std::size_t> cables_;
};

}  // namespace

Result<Fabric> read_ibnetdiscover(std::string_view text) {
  if (text.size() > max_file_bytes) return bad(fmt::format("larger than {} MiB", max_file_bytes >> 20));
  if (const auto checked = check_text(text); !checked) return bad(checked.error().what);
  return Reader().run(text);
}

}  // namespace ringtrue::formats
