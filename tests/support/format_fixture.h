// Files of tests/fixtures/topology.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/result.h"
#include "paths.h"

namespace ringtrue::test {

inline std::string fixture(const std::string& name) {
  std::ifstream file(std::string(RINGTRUE_SOURCE_DIR) + "/tests/fixtures/topology/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

template <class T>
T value(ringtrue::Result<T> result) {
  EXPECT_TRUE(result) << (result ? "" : result.error().text());
  return result ? std::move(*result) : T();
}

template <class T>
std::string refusal(const ringtrue::Result<T>& result) {
  EXPECT_FALSE(result);
  return result ? "" : result.error().text();
}

}  // namespace ringtrue::test
