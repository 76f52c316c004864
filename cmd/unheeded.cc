#include "cmd/unheeded.h"

#include <fmt/format.h>

namespace ringtrue::cmd {

Result<void> refuse(std::string_view where, std::initializer_list<Unheeded> flags) {
  for (const Unheeded& one : flags) {
    if (!one.given) continue;
    return fail(Cause::bad_input, fmt::format("{} does nothing in {}", one.flag, where), {},
                std::string(one.next));
  }
  return {};
}

Result<void> refuse_playing(const Context& context, std::string_view where, std::string_view instead) {
  const Common& common = context.common;
  return refuse(where, {{common.local.has_value(), "--local", instead},
                        {common.ranks_per_node != 1, "--ranks-per-node", instead},
                        {common.transport.has_value(), "--transport"},
                        {common.memory.has_value(), "--memory"},
                        {common.data_interface.has_value(), "--data-interface"},
                        {common.data_ports.has_value(), "--data-ports"},
                        {common.run_deadline.has_value(), "--deadline"}});
}

Result<void> refuse_remote(const Context& context) {
  const Common& common = context.common;
  return refuse(fmt::format("{} --local", context.command),
                {{common.pki.has_value(), "--pki"},
                 {common.insecure, "--insecure"},
                 {common.phase_deadline.has_value(), "--phase-deadline"},
                 {common.data_interface.has_value(), "--data-interface"},
                 {common.data_ports.has_value(), "--data-ports"},
                 {common.ranks_per_node != 1, "--ranks-per-node", "--local says how many ranks there are"}});
}

Result<void> refuse_hosts(const Context& context, std::string_view where, std::string_view instead) {
  const Common& common = context.common;
  return refuse(where, {{common.hosts.has_value(), "--hosts", instead},
                        {common.pki.has_value(), "--pki"},
                        {common.insecure, "--insecure"},
                        {common.phase_deadline.has_value(), "--phase-deadline"}});
}

}  // namespace ringtrue::cmd
