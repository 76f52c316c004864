#include "collective/fault.h"

#include <fmt/format.h>

#include <cmath>

#include "base/number.h"
#include "base/splitmix64.h"

namespace ringtrue::collective {

namespace {

using Kind = Fault::Kind;

// What a kind takes beside the seed= of the unreliable ones.
struct Parameter {
  std::string_view key;
  bool needed = false;
};
constexpr Parameter parameters[] = {
    {"time", true}, {"rate", true},  {"after"},       {"nth"},         {"nth"},         {"nth"},
    {"after"},      {"share", true}, {"share", true}, {"share", true}, {"share", true},
};
static_assert(std::size(parameters) == std::size(keys_of<Kind>));

tl::unexpected<Error> bad(std::string what, std::string next = "write it like throttle@3>4:rate=50Mbit") {
  return fail(Cause::bad_input, std::move(what), {}, std::move(next));
}

template <class N>
std::optional<N> number(std::string_view text, N min) {
  const auto value = parse_number<N>(text);
  return value && *value >= min ? value : std::nullopt;
}

// A rank or '*' into `into`.
Result<void> parse_end(std::string_view text, std::string_view fault, std::optional<Rank>& into) {
  if (text != "*") into = number<Rank>(text, 0);
  if (text == "*" || into) return {};
  return bad(fmt::format("'{}' in fault '{}' is not a rank", text, fault), "use a rank from 0, or * for any");
}

// Gives what a key's value holds; only the errors of its parser know the cause.
Result<void> parse_value(std::string_view key, std::string_view value, std::string_view text, Fault& fault) {
  const auto explain = [&](const Error& error) {
    return bad(fmt::format("{} in fault '{}'", error.what, text), error.next);
  };
  if (key == "time") {
    const Result<Seconds> time = parse_duration(value);
    if (!time) return explain(time.error());
    if (time->value > 86400) return bad(fmt::format("more than a day in fault '{}'", text));
    // Whole nanoseconds, so that the text form can be exact.
    fault.time = Seconds(std::round(time->value * 1e9) / 1e9);
  } else if (key == "rate") {
    const Result<BytesPerSecond> rate = parse_rate(value);
    if (!rate) return explain(rate.error());
    if (rate->value < 1) return bad(fmt::format("less than 1 B/s in fault '{}'", text), "use stall instead");
    fault.rate = BytesPerSecond(std::round(rate->value));  // whole bytes per second, for the same reason
  } else if (key == "after") {
    const Result<Bytes> after = parse_size(value);
    if (!after) return explain(after.error());
    fault.after = *after;
  } else if (key == "share") {
    const std::optional<double> share = parse_share(value);
    if (!share)
      return bad(fmt::format("'{}' in fault '{}' is not a share from 0 to 100%", value, text),
                 "write it like share=5% or share=0.05");
    fault.share = *share;
  } else if (key == "seed") {
    const std::optional<std::uint64_t> seed = number<std::uint64_t>(value, 0);
    if (!seed) return bad(fmt::format("'{}' in fault '{}' is not a seed", value, text), "use a whole number");
    fault.seed = *seed;
  } else {
    const std::optional<std::uint64_t> nth = number<std::uint64_t>(value, 1);
    if (!nth) return bad(fmt::format("'{}' in fault '{}' is not a count from 1", value, text));
    fault.nth = *nth;
  }
  return {};
}

Result<Fault> parse_fault(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == text.npos) return bad(fmt::format("fault '{}' names no hop", text));
  const Result<Kind> kind = parse_one_of<Kind>(text.substr(0, at), "kind of fault");
  if (!kind) return tl::unexpected(kind.error());
  const Parameter& parameter = parameters[std::size_t(*kind)];

  Fault fault;
  fault.kind = *kind;
  const std::size_t colon = text.find(':', at);
  const std::string_view hop = text.substr(at + 1, colon == text.npos ? text.npos : colon - at - 1);
  const std::size_t arrow = hop.find('>');
  if (arrow == hop.npos)
    return bad(fmt::format("hop '{}' in fault '{}' is not SOURCE>DESTINATION", hop, text));
  auto ends = parse_end(hop.substr(0, arrow), text, fault.source);
  if (ends) ends = parse_end(hop.substr(arrow + 1), text, fault.destination);
  if (!ends) return tl::unexpected(ends.error());
  if (fault.source && fault.source == fault.destination)
    return bad(fmt::format("hop '{}' in fault '{}' leads nowhere", hop, text), "name two ranks");

  bool given = false;
  std::string_view rest = colon == text.npos ? std::string_view{} : text.substr(colon + 1);
  if (colon != text.npos && rest.empty()) return bad(fmt::format("fault '{}' ends after its colon", text));
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view pair = rest.substr(0, comma);
    rest = comma == rest.npos ? std::string_view{} : rest.substr(comma + 1);
    const std::size_t equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    const bool is_seed = fault.unreliable() && key == "seed";
    if (equals == pair.npos || (!is_seed && key != parameter.key)) {
      return bad(fmt::format("'{}' in fault '{}' does not belong to {}", pair, text, key_of(*kind)),
                 fmt::format("{} takes {}=VALUE{}", key_of(*kind), parameter.key,
                             fault.unreliable() ? " and seed=N" : ""));
    }
    bool& before = is_seed ? fault.seeded : given;
    if (before) return bad(fmt::format("fault '{}' gives {} twice", text, key));
    before = true;
    const Result<void> value = parse_value(key, pair.substr(equals + 1), text, fault);
    if (!value) return tl::unexpected(value.error());
  }
  if (parameter.needed && !given) {
    return bad(fmt::format("fault '{}' lacks {}", text, parameter.key),
               fmt::format("{} needs {}=VALUE", key_of(*kind), parameter.key));
  }
  return fault;
}

}  // namespace

std::string in_units(double value, std::initializer_list<std::string_view> units) {
  auto unit = units.begin();
  std::uint64_t whole = std::uint64_t(value);
  while (whole && whole % 1000 == 0 && unit + 1 != units.end()) {
    whole /= 1000;
    ++unit;
  }
  return fmt::format("{}{}", whole, *unit);
}

std::optional<double> parse_share(std::string_view text) {
  const auto share = ringtrue::parse_share(text, 1);
  return share ? std::optional(std::round(*share * 1e9) / 1e9) : std::nullopt;
}

std::string share_text(double share) {
  const auto billionths = std::uint64_t(std::round(share * 1e9));
  std::string text = fmt::format("{}.{:07}", billionths / 10'000'000, billionths % 10'000'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + "%";
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::uint64_t Fault::draw(Rank from, Rank to, std::uint64_t message) const {
  // Each kind, hop and message has a number of its own, whatever else is in the script.
  const std::uint64_t hop = std::uint64_t(std::uint32_t(from)) << 32 | std::uint32_t(to);
  return splitmix64(splitmix64(splitmix64(seed ^ std::uint64_t(kind) << 56) ^ hop) ^ message);
}

bool Fault::strikes(Rank from, Rank to, std::uint64_t message) const {
  return double(draw(from, to, message) >> 11) * 0x1p-53 < share;
}

Result<std::vector<Fault>> parse_faults(std::string_view text) {
  return parse_script<Fault>(text, parse_fault);
}

void seed(std::vector<Fault>& faults, std::uint64_t seed) {
  for (Fault& fault : faults) {
    if (!fault.unreliable() || fault.seeded) continue;
    fault.seed = seed;
    fault.seeded = seed != Fault().seed;
  }
}

std::string to_text(const Fault& fault) {
  const auto end = [](const std::optional<Rank>& rank) { return rank ? std::to_string(*rank) : "*"; };
  std::string text = fmt::format("{}@{}>{}", key_of(fault.kind), end(fault.source), end(fault.destination));
  const std::string_view key = parameters[std::size_t(fault.kind)].key;
  const std::string value = key == "time"
                                ? in_units(std::round(fault.time.value * 1e9), {"ns", "us", "ms", "s"})
                            : key == "rate"  ? in_units(fault.rate.value, {"B/s", "kB/s", "MB/s", "GB/s"})
                            : key == "after" ? to_text(fault.after)
                            : key == "share" ? share_text(fault.share)
                                             : std::to_string(fault.nth);
  text += fmt::format(":{}={}", key, value);
  return fault.seeded ? text + fmt::format(",seed={}", fault.seed) : text;
}

Result<void> check_ranks(const std::vector<Fault>& faults, int ranks) {
  for (const Fault& fault : faults) {
    if (fault.source.value_or(0) < ranks && fault.destination.value_or(0) < ranks) continue;
    return fail(Cause::bad_input,
                fmt::format("fault {}: there is no such rank among {}", to_text(fault), ranks), {},
                ranks == 1 ? "there is rank 0 alone" : fmt::format("give ranks 0 to {}", ranks - 1));
  }
  return {};
}

}  // namespace ringtrue::collective
