#include "collective/types.h"

#include <string>

namespace ringtrue::collective {

namespace {

template <class T, std::size_t n>
Result<T> parse(std::string_view text, const T (&all)[n], const char* kind) {
  std::string names;
  for (const T value : all) {
    if (name(value) == text) return value;
    names.append(names.empty() ? "" : ", ").append(name(value));
  }
  return fail(Cause::bad_input, "unknown " + std::string(kind) + " '" + std::string(text) + "'", {},
              "use one of " + names);
}

}  // namespace

std::string_view name(Type type) {
  switch (type) {
    case Type::float32:
      return "float32";
    case Type::float64:
      return "float64";
    case Type::float16:
      return "float16";
    case Type::bfloat16:
      return "bfloat16";
    case Type::int32:
      return "int32";
    case Type::int64:
      return "int64";
  }
  return "unknown";
}

std::string_view name(Operation operation) {
  switch (operation) {
    case Operation::sum:
      return "sum";
    case Operation::prod:
      return "prod";
    case Operation::min:
      return "min";
    case Operation::max:
      return "max";
    case Operation::avg:
      return "avg";
  }
  return "unknown";
}

Result<Type> parse_type(std::string_view text) {
  return parse(text, all_types, "type");
}
Result<Operation> parse_operation(std::string_view text) {
  return parse(text, all_operations, "operation");
}

Layout Layout::uniform(int nodes, int ranks_per_node) {
  Layout layout;
  for (int node = 0; node < nodes; ++node) {
    layout.node_of_rank.insert(layout.node_of_rank.end(), std::size_t(ranks_per_node), node);
  }
  return layout;
}

}  // namespace ringtrue::collective
