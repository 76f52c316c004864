#include "cmd/inapplicable.h"

#include <fmt/format.h>

namespace ringtrue::cmd {

Result<void> reject(std::string_view where, std::initializer_list<Inapplicables> flags) {
  for (const Inapplicables& group : flags)
    for (const Inapplicable& one : group)
      if (one.given)
        return fail(Cause::bad_input, fmt::format("{} does nothing in {}", one.flag, where), {}, one.next);
  return {};
}

Inapplicables common(const Context& context, std::initializer_list<std::string_view> flags,
                     const std::string& next) {
  Inapplicables out;
  for (const std::string_view flag : flags)
    out.push_back({context.common.given(flag), std::string(flag), next});
  return out;
}

Inapplicables running(const Context& context, const std::string& instead) {
  Inapplicables out = common(context, {"--local", "--ranks-per-node"}, instead);
  for (Inapplicable& one :
       common(context, {"--transport", "--memory", "--data-interface", "--data-ports", "--deadline"}))
    out.push_back(std::move(one));
  return out;
}

Inapplicables hosts(const Context& context, const std::string& instead) {
  Inapplicables out = common(context, {"--hosts"}, instead);
  for (Inapplicable& one : common(context, {"--pki", "--insecure", "--phase-deadline"}))
    out.push_back(std::move(one));
  return out;
}

Result<void> reject_where(const Context& context) {
  if (!context.common.local) return {};
  if (context.common.given("--hosts")) return both("--local", "--hosts");
  return reject(
      context.command + " --local",
      {common(context, {"--pki", "--insecure", "--phase-deadline", "--data-interface", "--data-ports"}),
       common(context, {"--ranks-per-node"}, "--local says how many ranks there are")});
}

tl::unexpected<Error> both(std::string_view a, std::string_view b) {
  return fail(Cause::bad_input, fmt::format("{} and {} exclude each other", a, b), {}, "leave one out");
}

}  // namespace ringtrue::cmd
