// Records as JSON, by the tables of their fields. For the files that turn a room's records into JSON and
// back: they derive a writer and a reader, with put_special() and get_special() for types that need words of
// their own.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/fields.h"
#include "base/result.h"
#include "base/text.h"

namespace ringtrue {

// packed: on one line without blanks, and a record as the array of its fields' values in the order of the
// table.
enum class JsonForm : std::uint8_t { keyed, packed };

template <class Derived>
class JsonWriter {
 public:
  // indent: blanks by depth; -1: all on one line.
  explicit JsonWriter(int indent, JsonForm form = JsonForm::keyed) : indent_(indent), form_(form) {}

  template <class T>
  void operator()(const char* key, const About& about, const T& value) {
    form_ == JsonForm::packed ? next() : this->key(key);
    put(value, about);
  }

  std::string take() { return std::move(text_); }

  template <class T>
  void put(const T& value, const About& about) {
    if constexpr (requires(Derived & d) { d.put_special(value, about); }) {
      derived().put_special(value, about);
    } else if constexpr (is_optional<T>) {
      value ? put(*value, about) : void(text_ += "null");
    } else if constexpr (is_vector<T>) {
      open('[');
      for (const auto& item : value) {
        next();
        put(item, about);
      }
      close(']');
    } else if constexpr (is_map<T>) {
      open('{');
      for (const auto& [name, item] : value) {
        key(name);
        put(item, about);
      }
      close('}');
    } else if constexpr (std::is_enum_v<T>) {
      put(std::string_view(key_of(value)));
    } else if constexpr (IsQuantity<T>) {
      put(value.value, about);
    } else if constexpr (requires { put(value); }) {
      put(value);
    } else {
      put_part(value);
    }
  }
  void put(std::string_view value) {
    text_ += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  void put(const std::string& value) { put(std::string_view(value)); }
  void put(bool value) { text_ += value ? "true" : "false"; }
  // What is whole is written so: a rate of 50000000000, not 5e+10.
  void put(double value) {
    constexpr double exact = 9007199254740992;  // 2^53
    if (std::abs(value) < exact && value == std::floor(value) && !std::signbit(value))
      text_ += std::to_string(std::int64_t(value));
    else
      text_ += nlohmann::json(value).dump();
  }
  template <std::integral T>
  void put(T value) {
    text_ += std::to_string(value);
  }

 protected:
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
  void null() { text_ += "null"; }
  // What is put from here on stands on one line; returns what was before, to be given back.
  bool in_line(bool value) { return std::exchange(inline_, value); }
  bool in_line() const { return inline_; }

 private:
  template <class T>
  void put_part(const T& part) {
    const bool packed = form_ == JsonForm::packed;
    open(packed ? '[' : '{');
    if constexpr (requires(Derived & d) { d.members(part); })
      derived().members(part);
    else
      fields(derived(), part);
    close(packed ? ']' : '}');
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
  Derived& derived() { return static_cast<Derived&>(*this); }

  int indent_, depth_ = 0;
  JsonForm form_;
  bool inline_ = false, first_ = true;
  std::string text_;
};

// Reads a record's fields; the first that does not fit ends it. What is missing stays as it was, and what is
// not known is passed over: earlier versions say less, later ones more. Reads both forms; in a packed record,
// what is missing or not known is at the end.
template <class Derived>
class JsonReader {
 public:
  // limited: values, too, are held to the limits of the tables; the lengths of lists always are.
  explicit JsonReader(const nlohmann::json& from, bool limited) : at_(&from), limited_(limited) {}
  const std::string& wrong() const { return wrong_; }  // "nodes/0/name: not a text"; empty: nothing

  template <class T>
  void operator()(const char* key, const About& about, T& value) {
    if (!wrong_.empty()) return;
    const nlohmann::json* here = at_;
    if (at_->is_array()) {
      if (next_ >= at_->size()) return;
      at_ = &(*at_)[next_++];
    } else {
      const auto it = at_->find(key);
      if (it == at_->end()) return;
      at_ = &*it;
    }
    get(value, about);
    at_ = here;
    within(key);
  }

  template <class T>
  void get(T& value, const About& about) {
    if constexpr (requires(Derived & d) { d.get_special(value, about); }) {
      static_cast<Derived&>(*this).get_special(value, about);
    } else if constexpr (is_optional<T>) {
      if (!at_->is_null()) get(value.emplace(), about);
    } else if constexpr (is_vector<T>) {
      get_all(value, about);
    } else if constexpr (is_map<T>) {
      get_map(value, about);
    } else if constexpr (std::is_enum_v<T>) {
      const auto known = at_->is_string() ? parse_key<T>(text()) : std::nullopt;
      known ? void(value = *known) : complain("a kind that is not known");
    } else if constexpr (IsQuantity<T>) {
      get(value.value, about);
    } else if constexpr (std::same_as<T, std::string>) {
      get_text(value, about);
    } else if constexpr (std::same_as<T, bool>) {
      if (!at_->is_boolean()) return complain("neither true nor false");
      value = at_->get<bool>();
    } else if constexpr (std::same_as<T, double>) {
      if (!at_->is_number()) return complain("not a number");
      value = at_->get<double>();
      check_range(value, about);
    } else if constexpr (std::integral<T>) {
      get_whole(value);
      if (wrong_.empty()) check_range(double(value), about);
    } else {
      get_part(value);
    }
  }

 protected:
  void complain(std::string_view what) { wrong_ = fmt::format(": {}", what); }
  const nlohmann::json& at() const { return *at_; }
  const std::string& text() const { return at_->get_ref<const std::string&>(); }

 private:
  // What was wrong there was wrong below `place`.
  void within(std::string_view place) {
    if (!wrong_.empty()) wrong_ = fmt::format("{}{}{}", place, wrong_[0] == ':' ? "" : "/", wrong_);
  }

  template <class T>
  void get_part(T& value) {
    if (!at_->is_object() && !at_->is_array()) return complain("not an object");
    const std::size_t outer = std::exchange(next_, 0);
    fields(static_cast<Derived&>(*this), value);
    next_ = outer;
  }

  void check_range(double value, const About& about) {
    if (limited_ && !(about.min <= value && value <= about.max))
      complain(fmt::format("{} is not within {} to {}", value, about.min, about.max));
  }

  void get_text(std::string& value, const About& about) {
    if (!at_->is_string()) return complain("not a text");
    // Elsewhere, texts are for people: a document's names and reasons go to terminals.
    value = limited_ ? text() : visible(text());
    if (limited_) check_text(value, about);
  }

  void check_text(std::string& value, const About& about) {
    using Text = About::Text;
    const bool proper = about.text == Text::name || about.text == Text::word;
    if (about.text == Text::name && value.empty()) return complain("empty");
    if (about.text != Text::line && value.size() > about.max_text) return complain("too long");
    if (about.text == Text::free) return;
    value.resize(std::min(value.size(), about.max_text));
    for (char& c : value) {
      const auto u = static_cast<unsigned char>(c);
      if (proper && (u <= ' ' || u >= 0x7f)) return complain("not a name");
      // A cut may break a character of UTF-8; a text of ours is ASCII.
      if (u < ' ' || u == 0x7f) c = ' ';
      if (u > 0x7f) c = '?';
    }
  }

  template <class T>
  void get_whole(T& value) {
    constexpr auto largest = std::uint64_t(std::numeric_limits<T>::max());
    if (at_->is_number_unsigned() && at_->get<std::uint64_t>() <= largest)
      value = at_->get<T>();
    else if (std::is_signed_v<T> && at_->is_number_integer() && !at_->is_number_unsigned() &&
             at_->get<std::int64_t>() >= std::int64_t(std::numeric_limits<T>::min()))
      value = at_->get<T>();
    else
      complain("not a whole number, or too large");
  }

  bool fits(const About& about) {
    if (at_->size() > about.max_items)
      complain(fmt::format("{} items, more than {}", at_->size(), about.max_items));
    return wrong_.empty();
  }

  // " (node3)" of a record with a name, for errors.
  static std::string name_of(const nlohmann::json& item) {
    const auto it = item.is_object() ? item.find("name") : item.end();
    if (it == item.end() || !it->is_string()) return {};
    std::string name = it->template get<std::string>().substr(0, 64);
    for (char& c : name)
      if (c <= ' ' || c >= 0x7f) c = '?';
    return name.empty() ? name : fmt::format(" ({})", name);
  }

  template <class T>
  void get_all(std::vector<T>& all, const About& about) {
    if (!at_->is_array()) return complain("not an array");
    if (!fits(about)) return;
    const nlohmann::json& items = *at_;
    const About each = about.of_each();
    all.clear();
    for (std::size_t i = 0; i < items.size() && wrong_.empty(); ++i) {
      at_ = &items[i];
      get(all.emplace_back(), each);
      if (!wrong_.empty()) within(fmt::format("{}{}", i, name_of(items[i])));
    }
    at_ = &items;
  }

  template <class T>
  void get_map(std::map<std::string, T>& all, const About& about) {
    if (!at_->is_object()) return complain("not an object");
    if (!fits(about)) return;
    const nlohmann::json& items = *at_;
    for (const auto& [name, item] : items.items()) {
      at_ = &item;
      std::string checked = name;
      if (limited_) check_text(checked, about);
      if (wrong_.empty()) get(all[std::move(checked)], about.of_each());
      if (std::integral<T> && !wrong_.empty()) complain("a count that is not a whole number");
      if (!wrong_.empty()) break;
    }
    at_ = &items;
  }

  const nlohmann::json* at_;
  bool limited_;
  std::size_t next_ = 0;  // in a packed record
  std::string wrong_;
};

// JSON of at most so many bytes that nests at most so deep; `what` is what errors call it: "a topo document".
Result<nlohmann::json> parse_json(std::string_view text, std::size_t max_bytes, int max_depth,
                                  std::string_view what);

}  // namespace ringtrue
