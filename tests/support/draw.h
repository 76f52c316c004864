// Draws records at random by the tables of their fields, within the fields' limits: numbers at their ends,
// texts of any kind. A derived struct may have draw_special() for types that need more.
#pragma once

#include <algorithm>
#include <iterator>
#include <limits>
#include <random>
#include <string>

#include "base/fields.h"

namespace ringtrue::test {

template <class Derived>
class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  template <class T>
  void operator()(const char*, const About& about, T& value) {
    draw(value, about);
  }

  template <class T>
  void draw(T& value, const About& about = {}) {
    if constexpr (requires(Derived & d) { d.draw_special(value, about); }) {
      static_cast<Derived&>(*this).draw_special(value, about);
    } else if constexpr (is_optional<T>) {
      if (below(2)) draw(value.emplace(), about);
    } else if constexpr (is_vector<T>) {
      for (unsigned i = below(4); i > 0; --i) draw(value.emplace_back(), about);
    } else if constexpr (is_map<T>) {
      for (unsigned i = below(4); i > 0; --i) {
        std::string name;
        draw(name, about);
        draw(value[name], about);
      }
    } else if constexpr (std::is_enum_v<T>) {
      value = T(below(std::size(keys_of<T>)));
    } else if constexpr (IsQuantity<T>) {
      draw(value.value, about);
    } else if constexpr (std::same_as<T, std::string>) {
      static constexpr const char* names[] = {"mlx5_0", "0000:3b:00.0", "{\"value\":1}", "\\", "a", "~"};
      static constexpr const char* texts[] = {"", "say \"hi\"\\", "[[[[[[[[[[[[[[[[[[", " "};
      static constexpr const char* wild[] = {"\xe2\x82\xac", "M\xc3\xbc", "\xf0\x9f\x8c\x8d"};
      using Text = About::Text;
      const bool named = about.text == Text::name || about.text == Text::word;
      const unsigned kind = named ? 0 : below(about.text == Text::line ? 2 : 3);
      value = kind == 0   ? names[below(std::size(names))]
              : kind == 1 ? texts[below(std::size(texts))]
                          : wild[below(std::size(wild))];
      if (about.text == Text::word && below(4) == 0) value.clear();
    } else if constexpr (std::same_as<T, bool>) {
      value = below(2);
    } else if constexpr (std::same_as<T, double>) {
      static constexpr double numbers[] = {0, 2.5, 50e9, 1e300, 5e-324, 0.1, -1.5, 9007199254740993.0};
      value = std::clamp(numbers[below(std::size(numbers))], about.min, about.max);
    } else if constexpr (std::integral<T>) {
      const T numbers[] = {0, 1, 42, std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
      value = numbers[below(5)];
      if (double(value) < about.min) value = T(about.min);
      if (double(value) > about.max) value = T(about.max);
    } else {
      fields(static_cast<Derived&>(*this), value);
    }
  }

  unsigned below(std::size_t n) {
    return std::uniform_int_distribution<unsigned>(0, unsigned(n - 1))(random_);
  }

 private:
  std::mt19937 random_;
};

}  // namespace ringtrue::test
