// What connections to daemons are made with, for the two that use gRPC: ask.cc and link.cc.
#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/units.h"
#include "fleet/targets.h"
#include "pki/pki.h"
#include "wire/parts.h"

namespace ringtrue::fleet {

class Dialer {
 public:
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  std::shared_ptr<const pki::PemBundle> own;  // null: without TLS
  Seconds connect_time;
  std::size_t descriptors = 1024;  // that this process may have
  std::shared_ptr<grpc::Channel> dial(const Target& target, int max_answer_bytes) const {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(max_answer_bytes);
    arguments.SetMaxSendMessageSize(wire::max_request_bytes);
    // A limit on messages holds for what came over the wire, not for what it unpacks to.
    arguments.SetInt(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // a proxy for the web is none for the cluster
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    // How long gRPC waits for a connection and its handshake before it says why there is none.
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, std::max(1, int(connect_time.value * 1e3)));
    if (!target.socket.empty())
      return grpc::CreateCustomChannel("unix:" + target.socket, grpc::InsecureChannelCredentials(),
                                       arguments);
    arguments.SetSslTargetNameOverride(certificate_name(target));
    const char* family = target.host.find(':') == std::string::npos ? "ipv4:" : "ipv6:";
    return grpc::CreateCustomChannel(family + address_text(target), credentials, arguments);
  }

  // Of one who asks the same daemons again and again, by one thread: their connections, while they answer.
  std::shared_ptr<grpc::Channel> kept(const Target& target) const {
    const auto found = kept_.find(to_text(target));
    return found == kept_.end() ? nullptr : found->second;
  }
  void keep(const Target& target, std::shared_ptr<grpc::Channel> channel) {
    // Of memory one takes some 30 KiB, with TLS 200; and a descriptor, of which leases need one a node, too.
    const std::size_t most = std::min<std::size_t>(own ? 256 : 1024, descriptors / 4);
    if (kept_.size() < most) kept_.emplace(to_text(target), std::move(channel));
  }
  void forget(const Target& target) { kept_.erase(to_text(target)); }

 private:
  std::map<std::string, std::shared_ptr<grpc::Channel>> kept_;
};

// Why a call ended, in words of ours.
Error error_of(const grpc::Status& status, const Target& target, const pki::PemBundle* credentials);

}  // namespace ringtrue::fleet
