#include "sim/fabric_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/number.h"
#include "collective/fault.h"

namespace ringtrue::sim {

namespace {

using Kind = FabricFault::Kind;
using What = Place::What;
using Side = Place::Side;

constexpr std::string_view links = "node, NIC, gpu, path, trunk or switch", cards = "node or NIC";

// What each kind takes, in their order.
struct Taken {
  std::string_view needed, optional;  // keys; "": none
  std::string_view where;             // the places that it may be at
  std::string_view more = {};         // another optional key
};
constexpr Taken taken[] = {
    {"share", "", links},
    {"", "share", cards},
    {"share", "time", links},
    {"time", "", links},
    {"share", "period", links, "time"},
    {"share", "", "node"},
    {"", "", "node"},
    {"mtu", "", cards},
    {"rate", "", "path"},
};
static_assert(std::size(taken) == std::size(keys_of<Kind>));

tl::unexpected<Error> bad(std::string what, std::string next = "write it like slow-link@node3>:share=50%") {
  return fail(Cause::bad_input, std::move(what), {}, std::move(next));
}

std::optional<int> number(std::string_view text) {
  const auto value = parse_number<int>(text);
  return value && *value >= 0 && *value <= 1'000'000 ? value : std::nullopt;
}

std::optional<int> after(std::string_view text, std::string_view word) {
  return text.starts_with(word) ? number(text.substr(word.size())) : std::nullopt;
}

// "node3", "node3.nic1", "node3.gpu1", "leaf0", "spine2", "core4".
std::optional<Place> end_of(std::string_view text) {
  Place place;
  const std::size_t dot = text.find('.');
  if (const auto node = after(text.substr(0, dot), "node")) {
    place.node = *node;
    if (dot == text.npos) return place;
    const std::string_view part = text.substr(dot + 1);
    const auto nic = after(part, "nic"), gpu = after(part, "gpu");
    if (!nic && !gpu) return std::nullopt;
    place.what = nic ? What::nic : What::gpu;
    place.part = nic ? *nic : *gpu;
    return place;
  }
  if (const auto leaf = after(text, "leaf")) {
    place.what = What::leaf;
    place.node = *leaf;
    return place;
  }
  if (const auto spine = after(text, "spine")) {
    place.what = What::spine;
    place.part = *spine;
    return place;
  }
  if (const auto core = after(text, "core")) {
    place.what = What::core;
    place.part = *core;
    return place;
  }
  return std::nullopt;
}

// Between two switches, the lower one first.
std::optional<Place> trunk_of(const Place& below, const Place& above) {
  if (below.what == What::leaf && above.what == What::spine)
    return Place{What::trunk, Side::out, below.node, above.part};
  if (below.what == What::spine && above.what == What::core)
    return Place{What::core_trunk, Side::out, below.part, above.part};
  return std::nullopt;
}

// "leaf0>spine1", "spine1>leaf0.cable2", "leaf0<>spine1": what is on either side of the arrow.
std::optional<Place> trunk_between(std::string_view left, std::string_view right) {
  const bool both = left.ends_with('<');
  if (both) left.remove_suffix(1);
  std::optional<int> cable;
  if (const auto dot = right.find('.'); dot != right.npos) {
    cable = after(right.substr(dot + 1), "cable");
    if (!cable) return std::nullopt;
    right = right.substr(0, dot);
  }
  const auto from = end_of(left), to = end_of(right);
  if (!from || !to) return std::nullopt;
  auto out = trunk_of(*from, *to);
  if (!out) {
    out = trunk_of(*to, *from);
    if (!out || both) return std::nullopt;  // of those both ways, one spelling
    out->side = Side::in;
  }
  if (both) out->side = Side::both;
  out->cable = cable.value_or(-1);
  return out;
}

// Out of a trunk's upper end is into its lower one.
Side seen_from_above(Side side) {
  return side == Side::both ? side : side == Side::out ? Side::in : Side::out;
}

bool may_be_at(std::string_view where, const Place& place) {
  if (where == links) return true;
  if (where == cards) return place.what == What::node || place.what == What::nic;
  return where == "path" ? place.what == What::path : place.what == What::node && place.side == Side::both;
}

Result<void> set(FabricFault& fault, std::string_view key, std::string_view value, std::string_view text) {
  const auto explain = [&](const Error& error) {
    return bad(fmt::format("{} in fault '{}'", error.what, text), error.next);
  };
  if (key == "share") {
    const auto share = collective::parse_share(value);
    if (!share || *share <= 0 || *share >= 1)
      return bad(fmt::format("'{}' in fault '{}' is not a share between 0 and 100%", value, text),
                 "write it like share=50% or share=0.5");
    fault.share = *share;
  } else if (key == "rate") {
    const auto rate = parse_rate(value);
    if (!rate) return explain(rate.error());
    if (!(rate->value >= 1)) return bad(fmt::format("less than 1 B/s in fault '{}'", text));
    fault.rate = BytesPerSecond(std::floor(rate->value + 0.5));
  } else if (key == "mtu") {
    const auto mtu = number(value);
    if (!mtu || *mtu < 256 || *mtu > 65536)
      return bad(fmt::format("'{}' in fault '{}' is not an MTU from 256 to 65536", value, text));
    fault.mtu = *mtu;
  } else {
    const auto time = parse_delay(value);
    if (!time) return explain(time.error());
    const bool none = time->value == 0 && key == "time" && fault.kind == Kind::flapping;
    if (!none && !(time->value >= 1e-9 && time->value <= 86400))
      return bad(fmt::format("'{}' in fault '{}' is not from 1ns to a day", value, text));
    (key == "time" ? fault.time : fault.period) = Seconds(std::floor(time->value * 1e9 + 0.5) / 1e9);
  }
  return {};
}

Result<FabricFault> parse_one(std::string_view text) {
  const std::size_t at = text.find('@');
  const auto kind = parse_one_of<Kind>(text.substr(0, std::min<std::size_t>(at, 60)), "kind of fault");
  if (!kind) return tl::unexpected(kind.error());
  const auto& [required, optional, where, more] = taken[std::size_t(*kind)];
  if (at == text.npos) return bad(fmt::format("fault '{}' names no place", text.substr(0, 60)));
  const std::size_t colon = text.find(':', at);
  const auto place = parse_place(text.substr(at + 1, colon == text.npos ? colon : colon - at - 1));
  if (!place) return tl::unexpected(place.error());
  if (!may_be_at(where, *place))
    return bad(fmt::format("fault '{}': {} is not a place for it", text, to_text(*place)),
               fmt::format("{} is of a {}", key_of(*kind), where));
  FabricFault fault;
  fault.kind = *kind;
  fault.place = *place;
  if (fault.kind == Kind::narrow) fault.share = 0.5;
  if (fault.kind == Kind::lossy) fault.time = Seconds(1e-3);
  if (fault.kind == Kind::flapping) fault.period = fault.time = Seconds(1e-3);
  std::string_view rest = colon == text.npos ? std::string_view{} : text.substr(colon + 1);
  bool given = required.empty(), chosen = false, more_chosen = false;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view pair = rest.substr(0, comma);
    rest = comma == rest.npos ? std::string_view{} : rest.substr(comma + 1);
    const std::size_t equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    const bool needed = key == required;
    if (equals == pair.npos || key.empty() || (!needed && key != optional && key != more))
      return bad(fmt::format("'{}' in fault '{}' does not belong to {}", pair, text, key_of(*kind)));
    bool& seen = needed ? given : key == optional ? chosen : more_chosen;
    if (seen) return bad(fmt::format("fault '{}' gives {} twice", text, key));
    seen = true;
    if (auto done = set(fault, key, pair.substr(equals + 1), text); !done)
      return tl::unexpected(done.error());
  }
  if (!given) {
    return bad(fmt::format("fault '{}' lacks {}", text, required),
               fmt::format("{} needs {}=VALUE", key_of(*kind), required));
  }
  // Each period is an event for every message that it meets.
  if (fault.kind == Kind::flapping && (fault.share > 0.999 || fault.period.value < 1e-6))
    return bad(fmt::format("fault '{}' flaps beyond what can be played", text),
               "down for at most 99.9% of a period of 1us or more");
  return fault;
}

std::string value_text(const FabricFault& fault, std::string_view key) {
  if (key == "share") return collective::share_text(fault.share);
  if (key == "mtu") return std::to_string(fault.mtu);
  if (key == "rate") return collective::in_units(fault.rate.value + 0.5, {"B/s", "kB/s", "MB/s", "GB/s"});
  return collective::in_units((key == "time" ? fault.time : fault.period).value * 1e9 + 0.5,
                              {"ns", "us", "ms", "s"});
}

}  // namespace

bool is_fabric_fault(std::string_view text) {
  text = collective::trimmed(text);
  return parse_key<Kind>(text.substr(0, text.find('@'))).has_value();
}

bool contains(const Place& place, const Place& part) {
  const auto is = [&](What what, int number, int wanted, Side side) {
    return part.what == what && number == wanted && (place.side == Side::both || place.side == side);
  };
  const Side side = part.side, below = seen_from_above(part.side);
  switch (place.what) {
    case What::leaf:
      return is(What::leaf, part.node, place.node, side) || is(What::trunk, part.node, place.node, side);
    case What::spine:
      return is(What::spine, part.part, place.part, side) || is(What::trunk, part.part, place.part, below) ||
             is(What::core_trunk, part.node, place.part, side);
    case What::core:
      return is(What::core, part.part, place.part, side) ||
             is(What::core_trunk, part.part, place.part, below);
    case What::node:
      return is(What::node, part.node, place.node, side) || is(What::nic, part.node, place.node, side) ||
             is(What::gpu, part.node, place.node, side);
    default:
      return is(place.what, part.node, place.node, side) && part.part == place.part &&
             (place.cable < 0 || place.cable == part.cable);
  }
}

Result<Place> parse_place(std::string_view text) {
  const auto none = [&] {
    return bad(fmt::format("'{}' is not a place in a fabric", text.substr(0, 60)),
               "name one like node3, node3>, >node3, node3.nic1, node3>node6, leaf0, leaf0>spine1, "
               "leaf0<>spine1.cable2, spine1>core4");
  };
  const std::size_t arrow = text.find('>');
  if (arrow == text.npos) {
    const auto place = end_of(text);
    if (!place) return none();
    return *place;
  }
  const std::string_view left = text.substr(0, arrow), right = text.substr(arrow + 1);
  if (left.empty() || right.empty()) {
    auto place = end_of(left.empty() ? right : left);
    if (!place) return none();
    place->side = left.empty() ? Side::in : Side::out;
    return *place;
  }
  if (const auto trunk = trunk_between(left, right)) return *trunk;
  const auto from = end_of(left), to = end_of(right);
  if (!from || !to) return none();
  if (from->what == What::node && to->what == What::node && from->node != to->node)
    return Place{What::path, Side::both, from->node, to->node};
  return none();
}

Result<std::vector<FabricFault>> parse_fabric_faults(std::string_view text) {
  return collective::parse_script<FabricFault>(text, parse_one);
}

namespace {

std::string trunk_text(const Place& place, std::string_view below, std::string_view above) {
  std::string low = fmt::format("{}{}", below, place.node), high = fmt::format("{}{}", above, place.part);
  if (place.side == Side::in) std::swap(low, high);
  std::string out = fmt::format("{}{}{}", low, place.side == Side::both ? "<>" : ">", high);
  if (place.cable >= 0) out += fmt::format(".cable{}", place.cable);
  return out;
}

}  // namespace

std::string to_text(const Place& place) {
  std::string name;
  switch (place.what) {
    case What::node:
      name = fmt::format("node{}", place.node);
      break;
    case What::nic:
      name = fmt::format("node{}.nic{}", place.node, place.part);
      break;
    case What::gpu:
      name = fmt::format("node{}.gpu{}", place.node, place.part);
      break;
    case What::path:
      return fmt::format("node{}>node{}", place.node, place.part);
    case What::trunk:
      return trunk_text(place, "leaf", "spine");
    case What::core_trunk:
      return trunk_text(place, "spine", "core");
    case What::leaf:
      name = fmt::format("leaf{}", place.node);
      break;
    case What::spine:
      name = fmt::format("spine{}", place.part);
      break;
    case What::core:
      name = fmt::format("core{}", place.part);
      break;
  }
  if (place.side == Side::both) return name;
  return place.side == Side::in ? ">" + name : name + ">";
}

std::string to_text(const FabricFault& fault) {
  std::string text = fmt::format("{}@{}", key_of(fault.kind), to_text(fault.place));
  const Taken& takes = taken[std::size_t(fault.kind)];
  char separator = ':';
  for (const std::string_view key : {takes.needed, takes.optional, takes.more}) {
    if (key.empty()) continue;
    text += fmt::format("{}{}={}", separator, key, value_text(fault, key));
    separator = ',';
  }
  return text;
}

}  // namespace ringtrue::sim
