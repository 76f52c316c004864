// Certificates that will not be valid much longer.
#pragma once

#include <cstdint>
#include <string>

namespace ringtrue::pki {

inline constexpr int days_to_warn = 14;

// "the certificate of node3 expires in 9 days: ...", from days_to_warn days before on; "" earlier, after its
// end, and where the text holds no certificate. `now`: seconds since 1970.
std::string expiry_warning(const std::string& certificate_pem, std::int64_t now);

}  // namespace ringtrue::pki
