#include "daemon/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringtrue::daemon {
namespace {

std::string refusal(std::vector<std::string> words) {
  words.insert(words.begin(), "ringtrued");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const auto read = read_options(int(words.size()), argv.data());
  return read ? "" : read.error().text();
}

TEST(Options, RefuseWhatIsEmptyAndWhatDoesNothing) {
  EXPECT_EQ(refusal({"--listen", "127.0.0.1:1", "--insecure", "--node", "a"}), "");
  EXPECT_THAT(refusal({"--listen", ""}), testing::HasSubstr("--listen: an empty value"));
  EXPECT_THAT(refusal({"--node", ""}), testing::HasSubstr("--node: an empty value"));
  EXPECT_THAT(refusal({"--insecure", "--node", "a"}), testing::HasSubstr("give --listen as well"));
  EXPECT_THAT(refusal({"--listen", "127.0.0.1:1", "--insecure", "--pki", "dir"}),
              testing::HasSubstr("exclude each other"));
}

}  // namespace
}  // namespace ringtrue::daemon
