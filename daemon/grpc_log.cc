#include "daemon/grpc_log.h"

#include <grpc/support/log.h>

#include <atomic>
#include <string_view>

#include "daemon/refusal_log.h"

namespace ringtrue::daemon {
namespace {

std::atomic<std::uint64_t> handshakes = 0;

// The cause in a person's words, by a part of OpenSSL's.
constexpr struct {
  std::string_view part, reason;
} reasons[] = {
    {"PEER_DID_NOT_RETURN_A_CERTIFICATE", "it showed no certificate"},
    {"peer did not return a certificate", "it showed no certificate"},
    {"certificate expired", "its certificate, or ours in its eyes, has expired"},
    {"certificate has expired", "its certificate, or ours in its eyes, has expired"},
    {"CERTIFICATE_EXPIRED", "its certificate, or ours in its eyes, has expired"},
    {"unknown ca", "it does not trust this cluster's authority"},
    {"UNKNOWN_CA", "it does not trust this cluster's authority"},
    {"bad certificate", "it did not accept our certificate"},
    {"BAD_CERTIFICATE", "it did not accept our certificate"},
    {"certificate verify failed", "its certificate has expired, or is of another authority"},
    {"CERTIFICATE_VERIFY_FAILED", "its certificate has expired, or is of another authority"},
};

std::string_view reason(std::string_view text) {
  for (const auto& known : reasons)
    if (text.find(known.part) != text.npos) return known.reason;
  return {};
}

// "length mismatch" of "... error:0A00009F:SSL routines::length mismatch."
std::string_view last_part(std::string_view text) {
  const std::size_t colons = text.rfind("::");
  if (colons != std::string_view::npos) text.remove_prefix(colons + 2);
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

void log_line_of_grpc(gpr_log_func_args* line) {
  const std::string_view text = line->message;
  const bool handshake = text.find("Handshake failed with fatal error") != std::string_view::npos;
  if (handshake) {
    ++handshakes;
    if (!may_log_refusal("TLS")) return;
    const std::string_view why = reason(text);
    if (why.empty()) {
      log_warn("refused a TLS client: what it sends is not valid TLS ({})", last_part(text));
    } else {
      log_warn("refused a TLS client: {}", why);
    }
    return;
  }
  if (line->severity != GPR_LOG_SEVERITY_ERROR) return;
  if (may_log_refusal("gRPC")) log_warn("gRPC: {}", text);
}

}  // namespace

void take_over_grpc_log() {
  gpr_set_log_function(log_line_of_grpc);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
}

std::uint64_t refused_handshakes() {
  return handshakes;
}

}  // namespace ringtrue::daemon
