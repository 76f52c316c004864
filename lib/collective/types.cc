#include "collective/types.h"

namespace ringtrue::collective {

Result<Type> parse_type(std::string_view text) {
  return parse_one_of<Type>(text, "type");
}
Result<Operation> parse_operation(std::string_view text) {
  return parse_one_of<Operation>(text, "operation");
}

Layout Layout::uniform(int nodes, int ranks_per_node) {
  Layout layout;
  for (int node = 0; node < nodes; ++node) {
    layout.node_of_rank.insert(layout.node_of_rank.end(), std::size_t(ranks_per_node), node);
  }
  return layout;
}

}  // namespace ringtrue::collective
