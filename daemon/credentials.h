// Mutual TLS for the daemon's TCP service, with certificates that can be replaced while it runs.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "pki/pki.h"

namespace ringtrue::daemon {

// The certificates in use, and which of others count no more. Handshakes that begin after a reload use the
// new ones.
class Certificates {
 public:
  Certificates(std::string folder, std::string node) : folder_(std::move(folder)), node_(std::move(node)) {}

  // Reads the folder. On an error all stays as it was.
  Result<void> load();

  struct Pem {
    std::string ca, cert, key;
  };
  // `generation` rises with every load that succeeded.
  std::pair<Pem, std::uint64_t> current() const;

  // Who shows this certificate, if it counts now (pki::identify).
  Result<pki::Identity> identify(const std::string& certificate) const;

  // Of our own and its authority's, seconds since 1970; without a lock.
  struct Expiry {
    std::int64_t node = 0, authority = 0;
  };
  Expiry expiry() const { return {node_expires_, authority_expires_}; }

  // In the log, once a day, where our own certificate will expire soon; after each load, too.
  void warn_of_expiry() const;

 private:
  const std::string folder_;
  const std::string node_;
  mutable std::mutex mutex_;
  Pem pem_;
  pki::Serials revoked_;
  std::uint64_t generation_ = 0;
  std::atomic<std::int64_t> node_expires_ = 0, authority_expires_ = 0;
  mutable std::int64_t warned_ = 0;  // seconds since 1970
};

// Requires a certificate of the same authority from every client.
std::shared_ptr<grpc::ServerCredentials> mutual_tls(std::shared_ptr<const Certificates> certificates);

}  // namespace ringtrue::daemon
