// The spelling of enumerations: a table of keys in the order of their values, for texts, flags and JSON.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ringtrue {

// template <> inline constexpr const char* keys_of<Colour>[] = {"red", "green"};
template <class E>
inline constexpr const char* keys_of = nullptr;

template <>
inline constexpr const char* keys_of<Cause>[] = {"bad_input", "unavailable", "unreachable", "refused",
                                                 "deadline",  "peer_lost",   "corrupted",   "cancelled",
                                                 "internal",  "stopping"};

// "?" of a value that is none of the enumeration's.
template <class E>
constexpr const char* key_of(E value) {
  return std::size_t(value) < std::size(keys_of<E>) ? keys_of<E>[std::size_t(value)] : "?";
}

template <class E>
constexpr std::optional<E> parse_key(std::string_view key) {
  for (std::size_t i = 0; i < std::size(keys_of<E>); ++i)
    if (key == keys_of<E>[i]) return E(i);
  return std::nullopt;
}

template <class E>
std::vector<std::string> all_keys() {
  return {std::begin(keys_of<E>), std::end(keys_of<E>)};
}

// The same with an error that lists what there is; `kind` is what errors call it: "type".
template <class E>
Result<E> parse_one_of(std::string_view text, std::string_view kind) {
  if (const auto value = parse_key<E>(text)) return *value;
  std::string keys;
  for (const char* key : keys_of<E>) keys.append(keys.empty() ? "" : ", ").append(key);
  return fail(Cause::bad_input, std::string("unknown ").append(kind).append(" '").append(text).append("'"),
              {}, "use one of " + keys);
}

}  // namespace ringtrue
