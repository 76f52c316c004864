// Parts of the record of a run as JSON, by the tables of their fields. Only the json*.cc files may include
// this.
#pragma once

#include "report/json/value.h"
#include "run/fields.h"

namespace ringtrue::report {

template <class T>
Json record_value(const T& value) {
  if constexpr (Part<T>) {
    Json out = Json::object();
    fields([&](const char* key, const About&, const auto& field) { out.emplace(key, record_value(field)); },
           value);
    return out;
  } else if constexpr (is_vector<T>) {
    Json out = Json::array();
    for (const auto& item : value) out.push_back(record_value(item));
    return out;
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

}  // namespace ringtrue::report
