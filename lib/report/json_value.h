// How our values become JSON. Only the json*.cc files may include this.
#pragma once

#include <nlohmann/json.hpp>

#include "report/documents.h"

namespace ringtrue::report {

using Json = nlohmann::ordered_json;

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json error_value(const Trouble& trouble);
Json maybe_deadlines(const std::optional<Deadlines>& deadlines);
Json maybe_error(const std::optional<Trouble>& trouble);
// Indented; bytes that are not UTF-8 become U+FFFD.
std::string dump(const Json& value);

}  // namespace ringtrue::report
