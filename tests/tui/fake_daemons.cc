// fake-daemons: answers, on a port that it prints and on all addresses of this machine, what a daemon that is
// held by nobody answers when it is asked who it is. Ends with its standard input.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>

#include "wire/convert.h"
#include "wire/node.grpc.pb.h"

namespace {

class Daemons final : public ringtrue::rpc::Node::Service {
  grpc::Status Describe(grpc::ServerContext*, const ringtrue::rpc::DescribeRequest*,
                        ringtrue::rpc::DescribeReply* reply) override {
    const ringtrue::wire::Program program = ringtrue::wire::this_program();
    reply->set_version(program.version);
    reply->set_protocol(program.protocol);
    reply->set_oldest_protocol(program.oldest);
    reply->set_node("node");
    return grpc::Status::OK;
  }
};

}  // namespace

int main() {
  Daemons daemons;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("0.0.0.0:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&daemons);
  const auto server = builder.BuildAndStart();
  if (!server) return 1;
  fmt::print("{}\n", port);
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
  return 0;
}
