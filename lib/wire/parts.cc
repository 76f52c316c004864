#include "wire/parts.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <utility>

#include "wire/convert.h"

namespace ringtrue::wire {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr int max_depth = 8;  // ours nest to 4

// Whether what is left of `in` is a message of this type with at most `left` fields.
bool few_fields(CodedInputStream& in, const Descriptor& type, std::size_t& left, int depth) {
  while (const std::uint32_t tag = in.ReadTag()) {
    if (left-- == 0 || depth == 0) return left = 0, false;
    const FieldDescriptor* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    const Descriptor* inner = field ? field->message_type() : nullptr;
    if (!inner || WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&in, tag)) return false;
      continue;
    }
    int length = 0;
    if (!in.ReadVarintSizeAsInt(&length)) return false;
    const CodedInputStream::Limit outer = in.PushLimit(length);
    if (!few_fields(in, *inner, left, depth - 1) || in.BytesUntilLimit() != 0) return false;
    in.PopLimit(outer);
  }
  return true;
}

}  // namespace

std::vector<rpc::Command> in_parts(rpc::Command command) {
  std::vector<rpc::Command> parts;
  if (command.ByteSizeLong() <= std::size_t(max_request_bytes)) {
    parts.push_back(std::move(command));
    return parts;
  }
  const std::string bytes = command.SerializeAsString();
  for (std::size_t at = 0; at < bytes.size(); at += part_bytes) {
    rpc::Part& part = *parts.emplace_back().mutable_part();
    part.set_data(bytes.substr(at, part_bytes));
    part.set_last(at + part_bytes >= bytes.size());
  }
  return parts;
}

Result<std::optional<rpc::Command>> Assembly::add(const rpc::Part& part) {
  if (bytes_.size() + part.data().size() > std::size_t(max_message_bytes))
    return fail(Cause::bad_input, fmt::format("a command longer than {} MiB", max_message_bytes >> 20));
  bytes_ += part.data();
  if (!part.last()) return std::nullopt;
  const std::string bytes = std::exchange(bytes_, {});
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()), int(bytes.size()));
  std::size_t left = max_command_fields;
  if (!few_fields(in, *rpc::Command::descriptor(), left, max_depth))
    return fail(Cause::bad_input,
                left == 0 ? "a command with too many fields" : "parts that are no command together");
  rpc::Command command;
  if (!command.ParseFromString(bytes) || !(command.has_prepare() || command.has_connect()))
    return fail(Cause::bad_input, "parts that are no command together");
  return command;
}

}  // namespace ringtrue::wire
