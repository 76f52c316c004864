// As much of JSON Schema (2020-12) as packaging/schema uses; an unknown word in a schema is an error.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ringtrue::report {

inline bool has_type(const nlohmann::json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return false;
}

// What of `value` does not fit `schema`; empty where all fits.
inline void check_schema(const nlohmann::json& schema, const nlohmann::json& value, const std::string& path,
                         std::vector<std::string>& errors) {
  for (const auto& [word, rule] : schema.items()) {
    if (word == "$schema" || word == "$id" || word == "title") continue;
    if (word == "type") {
      bool fits = false;
      for (const auto& type : rule.is_array() ? rule : nlohmann::json::array({rule})) {
        fits = fits || has_type(value, type.get<std::string>());
      }
      if (!fits) errors.push_back(path + ": not of type " + rule.dump());
    } else if (word == "const") {
      if (value != rule) errors.push_back(path + ": not " + rule.dump());
    } else if (word == "enum") {
      if (std::find(rule.begin(), rule.end(), value) == rule.end())
        errors.push_back(path + ": none of " + rule.dump());
    } else if (word == "minimum") {
      if (value.is_number() && value < rule) errors.push_back(path + ": below " + rule.dump());
    } else if (word == "maximum") {
      if (value.is_number() && value > rule) errors.push_back(path + ": above " + rule.dump());
    } else if (word == "minItems") {
      if (value.is_array() && value.size() < rule) errors.push_back(path + ": too short");
    } else if (word == "maxItems") {
      if (value.is_array() && value.size() > rule) errors.push_back(path + ": too long");
    } else if (word == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
        check_schema(rule, value[i], path + "/" + std::to_string(i), errors);
      }
    } else if (word == "properties") {
      for (const auto& [key, below] : rule.items()) {
        if (value.is_object() && value.contains(key))
          check_schema(below, value[key], path + "/" + key, errors);
      }
    } else if (word == "required") {
      for (const auto& key : rule) {
        if (value.is_object() && !value.contains(key)) errors.push_back(path + ": lacks " + key.dump());
      }
    } else if (word == "additionalProperties") {
      if (!value.is_object()) continue;
      for (const auto& [key, below] : value.items()) {
        if (schema.contains("properties") && schema["properties"].contains(key)) continue;
        if (rule == false) errors.push_back(path + ": unknown key " + key);
        if (rule.is_object()) check_schema(rule, below, path + "/" + key, errors);
      }
    } else if (word == "anyOf") {
      bool fits = false;
      std::vector<std::string> why;
      for (const auto& choice : rule) {
        std::vector<std::string> below;
        check_schema(choice, value, path, below);
        fits = fits || below.empty();
        why.insert(why.end(), below.begin(), below.end());
      }
      if (!fits) errors.insert(errors.end(), why.begin(), why.end());
    } else {
      errors.push_back("the schema uses '" + word + "', which this checker does not know");
    }
  }
}

}  // namespace ringtrue::report
