#include "wire/parts.h"

#include <gtest/gtest.h>

#include "wire/convert.h"

namespace ringtrue::wire {
namespace {

rpc::Command with_input(std::size_t bytes) {
  rpc::Command command;
  command.set_sequence(7);
  command.set_deadline_s(2.5);
  std::string row(bytes, '\0');
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = char(i * 37);
  command.mutable_prepare()->mutable_job()->mutable_input()->add_rows(row);
  return command;
}

Result<std::optional<rpc::Command>> put_together(const std::string& bytes) {
  Assembly assembly;
  rpc::Part part;
  for (std::size_t at = 0; at < bytes.size(); at += part_bytes) {
    part.set_data(bytes.substr(at, part_bytes));
    part.set_last(at + part_bytes >= bytes.size());
    auto whole = assembly.add(part);
    if (!whole || part.last()) return whole;
  }
  return std::nullopt;
}

TEST(Parts, AShortCommandStaysWhole) {
  const auto parts = in_parts(with_input(1000));
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_TRUE(parts[0].has_prepare());
}

TEST(Parts, ALongOneComesOutAsItWentIn) {
  const rpc::Command whole = with_input(1'000'000);
  const auto parts = in_parts(whole);
  EXPECT_EQ(parts.size(), 21u);
  Assembly assembly;
  for (const rpc::Command& part : parts) {
    EXPECT_LE(part.ByteSizeLong(), std::size_t(max_request_bytes));
    auto got = assembly.add(part.part());
    ASSERT_TRUE(got) << got.error().what;
    if (&part != &parts.back()) {
      EXPECT_FALSE(*got);
      continue;
    }
    ASSERT_TRUE(*got);
    EXPECT_EQ((*got)->SerializeAsString(), whole.SerializeAsString());
  }
  EXPECT_TRUE(assembly.empty());
}

TEST(Parts, RefusesWhatIsTooLong) {
  Assembly assembly;
  rpc::Part part;
  part.set_data(std::string(1 << 20, 'x'));
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(assembly.add(part));
  const auto more = assembly.add(part);
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().what.find("64 MiB"), std::string::npos);
}

TEST(Parts, RefusesWhatIsNoCommandThatGoesInParts) {
  rpc::Command beat;
  beat.mutable_heartbeat();
  for (const std::string& bytes : {beat.SerializeAsString(), std::string("\xff\xff\xff"), std::string("x")})
    EXPECT_FALSE(put_together(bytes)) << bytes.size();
}

// 60 MiB of empty parts would unpack to two gigabytes.
TEST(Parts, RefusesMoreFieldsThanACommandHas) {
  std::string nodes;
  for (std::size_t i = 0; i < max_command_fields + 1; ++i) nodes += std::string("\x0a\0", 2);
  std::string bytes = "\x2a";  // field 5: connect
  for (std::size_t left = nodes.size(); left > 0; left >>= 7)
    bytes += char((left & 0x7f) | (left >> 7 ? 0x80 : 0));
  bytes += nodes;
  const auto whole = put_together(bytes);
  ASSERT_FALSE(whole);
  EXPECT_NE(whole.error().what.find("too many fields"), std::string::npos) << whole.error().what;
  // A few are fine.
  EXPECT_TRUE(put_together(std::string("\x2a\x04\x0a\x00\x0a\x00", 6)));
}

}  // namespace
}  // namespace ringtrue::wire
