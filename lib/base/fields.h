// Tables of fields. Each record has a function that names every field of it once: its key, what else is known
// about it, and where it is. Writing, reading, merging, comparing and drawing at random are visitors of these
// tables, so that none forgets a field.
//
//   template <class V, Is<Point>... X>
//   void fields(V&& v, X&... x) {
//     RINGTRUE_FIELD("x", "m", x_m);          // v(key, About, field of each x)
//     RINGTRUE_FIELD("name", line(64), name);
//   }
//
// The table stands in the record's namespace, where argument-dependent lookup finds it.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/keys.h"

namespace ringtrue {

// What is known of a field beside its key. The limits are for values that come from outside: a number out of
// range is rejected, NaN with it.
struct About {
  static constexpr double endless = std::numeric_limits<double>::infinity();
  static constexpr std::size_t any = ~std::size_t(0);
  enum class Text : std::uint8_t {
    free,  // as it is; rejected where it is longer than max_text
    line,  // cut to max_text bytes of ASCII, control characters as blanks: for a log or a terminal
    name,  // rejected unless it is 1 to max_text printable characters without blanks
    word,  // the same, or empty
  };
  enum class Join : std::uint8_t { largest, least, sum };  // of several measurements side by side

  const char* unit = "";  // of facts; "" where there is none
  double min = -endless, max = endless;
  std::size_t max_items = any;  // of a list or a map
  std::size_t max_text = any;
  Text text = Text::free;
  Join join = Join::largest;

  constexpr About() = default;
  constexpr About(const char* of) : unit(of) {}  // NOLINT: a unit alone says enough of a fact

  constexpr About of_each() const {  // of the items of a list
    About each = *this;
    each.max_items = any;
    return each;
  }
};

constexpr About range(double min, double max) {
  About about;
  about.min = min;
  about.max = max;
  return about;
}
// Finite and not negative: every time and rate that is exchanged.
constexpr About measured = range(0, std::numeric_limits<double>::max());

constexpr About joined(About::Join how, About about = {}) {
  about.join = how;
  return about;
}

constexpr About text_of(About::Text kind, std::size_t max_text) {
  About about;
  about.text = kind;
  about.max_text = max_text;
  return about;
}
constexpr About line(std::size_t max_text) {
  return text_of(About::Text::line, max_text);
}
constexpr About proper_name(std::size_t max_text) {
  return text_of(About::Text::name, max_text);
}
constexpr About word(std::size_t max_text) {
  return text_of(About::Text::word, max_text);
}
constexpr About at_most(std::size_t items, About each = {}) {
  each.max_items = items;
  return each;
}

template <class X, class T>
concept Is = std::same_as<std::remove_const_t<X>, T>;

#define RINGTRUE_FIELD(key, about, field) v(key, about, x.field...)

template <class V, Is<Error>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("cause", {}, cause);
  RINGTRUE_FIELD("what", line(1000), what);
  RINGTRUE_FIELD("where", line(1000), where.node);
  RINGTRUE_FIELD("next", line(1000), next);
}

// What has fields of its own.
struct AnyVisitor {
  void operator()(const char*, const About&, auto&...) const {}
};
template <class T>
concept Part = requires(T& x, AnyVisitor v) {
  fields(v, x);
};

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_map = false;
template <class T>
inline constexpr bool is_map<std::map<std::string, T>> = true;
// Bytes, Seconds, BytesPerSecond: written as their value.
template <class T>
concept IsQuantity = requires(T& x) {
  requires std::is_arithmetic_v<decltype(x.value)>;
  requires sizeof(T) == sizeof(x.value);
};

}  // namespace ringtrue
