// How our values become JSON. Only the json*.cc files may include this.
#pragma once

#include <nlohmann/json.hpp>

#include "report/documents.h"
#include "report/text/text.h"
#include "run/fields.h"

namespace ringtrue::report {

using Json = nlohmann::ordered_json;

// Null for what is unknown.
template <class T>
Json maybe(const std::optional<T>& value) {
  if (!value) return nullptr;
  if constexpr (IsQuantity<T>)
    return value->value;
  else
    return *value;
}
inline Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}
// An array of what `value_of` makes of each.
template <class T>
Json array(const std::vector<T>& items, const auto& value_of) {
  Json out = Json::array();
  for (const T& item : items) out.push_back(value_of(item));
  return out;
}

// Parts of the record of a run, by the tables of their fields.
template <class T>
Json record_value(const T& value) {
  if constexpr (Part<T>) {
    Json out = Json::object();
    fields([&](const char* key, const About&, const auto& field) { out.emplace(key, record_value(field)); },
           value);
    return out;
  } else if constexpr (is_vector<T>) {
    return array(value, [](const auto& item) { return record_value(item); });
  } else if constexpr (std::is_enum_v<T>) {
    return key_of(value);
  } else if constexpr (IsQuantity<T>) {
    return value.value;
  } else if constexpr (std::same_as<T, run::RdmaPort>) {
    return to_text(value);
  } else {
    return value;
  }
}

// An array of many rows that is written one row a line, behind `head`. False: the output is closed.
class Rows {
 public:
  Rows(const Write& write, std::string_view head, int indent = 4)
      : write_(write), indent_(std::size_t(indent), ' '), open_(write(head)) {}

  bool add_text(std::string_view row) {
    open_ = open_ && write_((first_ ? "\n" : ",\n") + indent_ + std::string(row));
    first_ = false;
    return open_;
  }
  bool add(const Json& row) { return add_text(row.dump(-1, ' ', false, Json::error_handler_t::replace)); }
  bool end() { return open_ && write_(first_ ? "]" : "\n" + indent_.substr(2) + "]"); }

 private:
  const Write& write_;
  std::string indent_;
  bool open_, first_ = true;
};

Json finding_value(const diagnosis::Finding& finding);
Json not_checked_value(const diagnosis::NotChecked& not_checked);
// What a device did.
Json event_value(const ops::NodeEvent& event);

// The protocol's counts of an omnireduce, beside the other keys of a result or at the top of a document.
void add_counts(Json& out, const ops::OmniCounts& counts);

Json error_value(const ops::Trouble& trouble);
Json maybe_deadlines(const std::optional<ops::Deadlines>& deadlines);
Json maybe_error(const std::optional<ops::Trouble>& trouble);
// Indented; bytes that are not UTF-8 become U+FFFD.
std::string dump(const Json& value);

// counters[]: by node, how its devices' counters changed.
Json counters_value(const std::map<std::string, run::CounterWindow>& counters);
// networks[]: unknown rates and MTUs are null.
Json networks_value(const std::vector<run::Network>& networks);
// {"likely", "wrong_model"}, or null.
Json above_value(const std::optional<ideal::AboveIdeal>& above);

Json regression_value(const history::Regression& regression);
// history{} of a check, or null.
Json remembered_value(const std::optional<ops::Remembered>& remembered);

}  // namespace ringtrue::report
