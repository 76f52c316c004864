#include "cmd/inapplicable.h"

#include <fmt/format.h>

namespace ringtrue::cmd {

Result<void> reject_inapplicable(std::string_view where, std::initializer_list<Inapplicable> flags) {
  for (const Inapplicable& one : flags) {
    if (!one.given) continue;
    return fail(Cause::bad_input, fmt::format("{} does nothing in {}", one.flag, where), {},
                std::string(one.next));
  }
  return {};
}

Result<void> reject_playing(const Context& context, std::string_view where, std::string_view instead) {
  const Common& common = context.common;
  return reject_inapplicable(where, {{common.local.has_value(), "--local", instead},
                                     {common.ranks_per_node != 1, "--ranks-per-node", instead},
                                     {common.transport.has_value(), "--transport"},
                                     {common.memory.has_value(), "--memory"},
                                     {common.data_interface.has_value(), "--data-interface"},
                                     {common.data_ports.has_value(), "--data-ports"},
                                     {common.run_deadline.has_value(), "--deadline"}});
}

Result<void> reject_where(const Context& context) {
  const Common& common = context.common;
  if (!common.local) return {};
  if (common.hosts)
    return fail(Cause::bad_input, "--local and --hosts exclude each other", {}, "give one of them");
  return reject_inapplicable(
      fmt::format("{} --local", context.command),
      {{common.pki.has_value(), "--pki"},
       {common.insecure, "--insecure"},
       {common.phase_deadline.has_value(), "--phase-deadline"},
       {common.data_interface.has_value(), "--data-interface"},
       {common.data_ports.has_value(), "--data-ports"},
       {common.ranks_per_node != 1, "--ranks-per-node", "--local says how many ranks there are"}});
}

Result<void> reject_hosts(const Context& context, std::string_view where, std::string_view instead) {
  const Common& common = context.common;
  return reject_inapplicable(where, {{common.hosts.has_value(), "--hosts", instead},
                                     {common.pki.has_value(), "--pki"},
                                     {common.insecure, "--insecure"},
                                     {common.phase_deadline.has_value(), "--phase-deadline"}});
}

}  // namespace ringtrue::cmd
