// Mutual TLS for the daemon's TCP service, with certificates that can be replaced while it runs.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"

namespace ringtrue::daemon {

// The certificates in use. Handshakes that begin after a reload use the new ones; connections that stand are
// kept.
class Certificates {
 public:
  Certificates(std::string folder, std::string node) : folder_(std::move(folder)), node_(std::move(node)) {}

  // Reads the folder. On an error the former certificates stay in use.
  Result<void> load();

  struct Pem {
    std::string ca, cert, key;
  };
  // `generation` rises with every load that succeeded.
  std::pair<Pem, std::uint64_t> current() const;

 private:
  const std::string folder_;
  const std::string node_;
  mutable std::mutex mutex_;
  Pem pem_;
  std::uint64_t generation_ = 0;
};

// Requires a certificate of the same authority from every client.
std::shared_ptr<grpc::ServerCredentials> mutual_tls(std::shared_ptr<const Certificates> certificates);

}  // namespace ringtrue::daemon
