#include "daemon/service.h"

#include <grpcpp/resource_quota.h>

#include <chrono>

#include "wire/parts.h"

namespace ringtrue::daemon {

Service::Service(std::string node, LeaseManager& manager, Inspector& inspector)
    : context_{std::move(node), manager, inspector, {}, nullptr, {}} {}

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
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 16);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8 * 1024);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // A connection without calls is of no use to anybody for long.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 60'000);
  using External = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  local_ = builder.experimental().AddExternalConnectionAcceptor(External::FROM_FD,
                                                                grpc::InsecureServerCredentials());
  if (certificates)
    tls_ = builder.experimental().AddExternalConnectionAcceptor(External::FROM_FD,
                                                                mutual_tls(std::move(certificates)));
  context_.queue = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (!server_) return fail(Cause::internal, "gRPC did not start", "", "the lines above say why");
  accept_calls(context_);
  thread_ = std::thread([this] { serve_queue(context_); });
  return {};
}

void Service::serve(Door door, int listener, int fd) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.listener_fd = listener;
  connection.fd = fd;
  (door == Door::tls ? tls_ : local_)->HandleNewConnection(&connection);
}

void Service::stop(Deadline deadline) {
  if (!server_) return;
  context_.stopping = true;
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(deadline.left_ms()));
  context_.queue->Shutdown();
  if (thread_.joinable()) thread_.join();
  server_.reset();
}

}  // namespace ringtrue::daemon
