// RPC messages: any bytes become a checked model or are refused; a model that was accepted survives the way
// through its own message. The first byte chooses the kind of message.
#include <google/protobuf/stubs/logging.h>

#include <string>

#include "wire/convert.h"

#include "tests/fuzz/expect.h"  // a macro, behind headers that have the word

namespace {

using namespace ringtrue;

template <class Message>
void convert(const void* data, std::size_t size) {
  Message message;
  if (!message.ParseFromArray(data, int(size))) return;
  const auto model = wire::from_wire(message);
  if (!model) {
    expect(!model.error().what.empty());
    return;
  }
  const Message once = wire::to_wire(*model);
  const auto again = wire::from_wire(once);
  expect(again.has_value());
  expect(wire::to_wire(*again).SerializeAsString() == once.SerializeAsString());
}

void convert_error(const void* data, std::size_t size) {
  rpc::Error message;
  if (!message.ParseFromArray(data, int(size))) return;
  const Error error = wire::from_wire(message);
  for (const std::string* text : {&error.what, &error.where.node, &error.where.device, &error.next}) {
    expect(text->find('\n') == text->npos);
  }
}

void name_phase(const void* data, std::size_t size) {
  rpc::Command message;
  if (message.ParseFromArray(data, int(size))) expect(wire::phase_of(message) <= Phase::open);
}

// protobuf would print a line for each text that is no UTF-8.
[[maybe_unused]] const auto silenced = google::protobuf::SetLogHandler(nullptr);

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static constexpr void (*kinds[])(const void*, std::size_t) = {
      convert<rpc::Acquire>,   convert<rpc::Job>,    convert<rpc::Connect>, convert<rpc::Prepared>,
      convert<rpc::RunReport>, convert<rpc::Member>, convert_error,         name_phase,
  };
  kinds[data[0] % std::size(kinds)](data + 1, size - 1);
  return 0;
}
