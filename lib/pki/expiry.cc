#include "pki/expiry.h"

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"
#include "pki/x509.h"

namespace ringtrue::pki {

std::string expiry_warning(const std::string& certificate_pem, std::int64_t now) {
  constexpr std::int64_t day = 24 * 60 * 60;
  const auto facts = read_certificate(certificate_pem);
  if (!facts) return {};
  const std::int64_t left = facts->not_after - now;
  if (left < 0 || left > days_to_warn * day) return {};
  const std::string when = left < day ? "in less than a day" : "in " + plural(std::size_t(left / day), "day");
  return fmt::format("the certificate of {} expires {}; make another with `ringtrue pki issue`",
                     one_line(facts->name, 64), when);
}

}  // namespace ringtrue::pki
