// How our values become JSON. Only the json*.cc files may include this.
#pragma once

#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "report/documents.h"
#include "run/counter_window.h"

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

Json finding_value(const diagnosis::Finding& finding);
Json not_checked_value(const diagnosis::NotChecked& not_checked);
// What an omnireduce adds to a result: the protocol's counts, beside its other keys or at the top of a
// document, and results[i].omnireduce.
void add_omni_counts(Json& out, const ops::OmniResult& omni, bool simulated);
Json omni_value(const ops::OmniResult& omni);
// What only a model can say.
void add_simulated(Json& out, const ops::Simulated& model);
Json error_value(const ops::Trouble& trouble);
Json maybe_deadlines(const std::optional<ops::Deadlines>& deadlines);
Json maybe_error(const std::optional<ops::Trouble>& trouble);
// Indented; bytes that are not UTF-8 become U+FFFD.
std::string dump(const Json& value);

// counters[]: by node, how its devices' counters changed.
Json counters_value(const std::map<std::string, run::CounterWindow>& counters);
// {"likely", "wrong_model"}, or null.
Json above_value(const std::optional<ideal::AboveIdeal>& above);

}  // namespace ringtrue::report
