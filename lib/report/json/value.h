// How our values become JSON. Only the json*.cc files may include this.
#pragma once

#include <nlohmann/json.hpp>

#include "report/documents.h"
#include "run/counter_window.h"

namespace ringtrue::report {

using Json = nlohmann::ordered_json;

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json finding_value(const diagnosis::Finding& finding);
Json error_value(const Trouble& trouble);
Json maybe_deadlines(const std::optional<Deadlines>& deadlines);
Json maybe_error(const std::optional<Trouble>& trouble);
// Indented; bytes that are not UTF-8 become U+FFFD.
std::string dump(const Json& value);

// counters[]: by node, how its devices' counters changed.
Json counters_value(const std::map<std::string, run::CounterWindow>& counters);
// {"likely", "wrong_model"}, or null.
Json above_value(const std::optional<ideal::AboveIdeal>& above);

}  // namespace ringtrue::report
