#include "daemon/service.h"

#include <grpcpp/resource_quota.h>

#include <chrono>

#include "wire/parts.h"

namespace ringtrue::daemon {

Service::Service(std::string node, LeaseManager& manager, Inspector& inspector, PassiveWatch* watch)
    : context_{std::move(node), manager, inspector, watch, {}} {}

Result<void> Service::start(std::shared_ptr<const Certificates> certificates) {
  grpc::ServerBuilder builder;
  builder.RegisterService(&context_.service);
  builder.SetMaxReceiveMessageSize(wire::max_request_bytes);
  builder.SetMaxSendMessageSize(wire::max_message_bytes);
  // A limit on messages holds for what came over the wire, not for what it unpacks to.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  grpc::ResourceQuota quota("ringtrued");
  quota.SetMaxThreads(4);
  quota.Resize(std::size_t(256) << 20);
  builder.SetResourceQuota(quota);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, max_streams);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8 * 1024);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  using External = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  local_ = builder.experimental().AddExternalConnectionAcceptor(External::FROM_FD,
                                                                grpc::InsecureServerCredentials());
  if (certificates)
    tls_ = builder.experimental().AddExternalConnectionAcceptor(External::FROM_FD, mutual_tls(certificates));
  context_.certificates = std::move(certificates);
  context_.queue = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (!server_) return fail(Cause::internal, "gRPC did not start", "", "the lines above say why");
  context_.connections = std::make_unique<Connections>([this](int door, int listener, int fd) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = listener;
    connection.fd = fd;
    (Door(door) == Door::tls ? tls_ : local_)->HandleNewConnection(&connection);
  });
  accept_calls(context_);
  thread_ = std::thread([this] { serve_queue(context_); });
  return {};
}

void Service::serve(Door door, int listener, int fd) {
  context_.connections->add(int(door), listener, fd);
}

void Service::certificates_changed() {
  context_.connections->keep_only([&](const std::string& certificate) {
    return context_.certificates && context_.certificates->identify(certificate).has_value();
  });
}

void Service::stop(Deadline deadline) {
  if (!server_) return;
  context_.stopping = true;
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(deadline.left_ms()));
  context_.queue->Shutdown();
  if (thread_.joinable()) thread_.join();
  context_.connections.reset();
  server_.reset();
}

}  // namespace ringtrue::daemon
