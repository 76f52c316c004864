#include "daemon/credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <time.h>

#include "base/log.h"
#include "pki/expiry.h"
#include "pki/x509.h"

namespace ringtrue::daemon {

Result<void> Certificates::load() {
  auto bundle = pki::load_node_credentials(folder_, node_);
  if (!bundle) return tl::unexpected(bundle.error());
  auto revoked = pki::load_revoked(bundle->folder);
  if (!revoked) return tl::unexpected(revoked.error());
  const auto own = pki::read_certificate(bundle->cert), authority = pki::read_certificate(bundle->ca);
  node_expires_ = own ? own->not_after : 0;
  authority_expires_ = authority ? authority->not_after : 0;
  {
    std::lock_guard lock(mutex_);
    revoked_ = std::move(*revoked);
    pem_ = {std::move(bundle->ca), std::move(bundle->cert), std::move(bundle->key)};
    ++generation_;
    warned_ = 0;
  }
  warn_of_expiry();
  return {};
}

void Certificates::warn_of_expiry() const {
  constexpr std::int64_t day = 24 * 60 * 60;
  const std::int64_t now = ::time(nullptr);
  std::lock_guard lock(mutex_);
  if (now - warned_ < day) return;
  const std::string warning = pki::expiry_warning(pem_.cert, now);
  if (warning.empty()) return;
  warned_ = now;
  log_warn("{}, and reload this daemon", warning);
}

std::pair<Certificates::Pem, std::uint64_t> Certificates::current() const {
  std::lock_guard lock(mutex_);
  return {pem_, generation_};
}

Result<pki::Identity> Certificates::identify(const std::string& certificate) const {
  std::lock_guard lock(mutex_);
  return pki::identify(certificate, pem_.ca, revoked_, ::time(nullptr));
}

namespace {

// grpc++ reloads certificates only by polling files; the core library underneath asks a callback at each
// handshake, which costs nothing while nothing happens.
class MutualTls final : public grpc::ServerCredentials {
 public:
  explicit MutualTls(std::shared_ptr<const Certificates> certificates)
      : certificates_(std::move(certificates)) {}

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    grpc_ssl_server_credentials_options* options =
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, &MutualTls::fetch, this);
    if (!options) return 0;
    grpc_server_credentials* credentials = grpc_ssl_server_credentials_create_with_options(options);
    if (!credentials) return 0;
    const int port = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return port;
  }

  static grpc_ssl_certificate_config_reload_status fetch(void* self,
                                                         grpc_ssl_server_certificate_config** config) {
    auto* tls = static_cast<MutualTls*>(self);
    const auto [pem, generation] = tls->certificates_->current();
    std::lock_guard lock(tls->mutex_);
    if (generation == tls->delivered_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair{pem.key.c_str(), pem.cert.c_str()};
    *config = grpc_ssl_server_certificate_config_create(pem.ca.c_str(), &pair, 1);
    if (!*config) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_FAIL;
    tls->delivered_ = generation;
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const std::shared_ptr<const Certificates> certificates_;
  std::mutex mutex_;
  std::uint64_t delivered_ = 0;
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> mutual_tls(std::shared_ptr<const Certificates> certificates) {
  return std::make_shared<MutualTls>(std::move(certificates));
}

}  // namespace ringtrue::daemon
