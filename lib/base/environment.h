// Variables of the environment.
#pragma once

#include <cstdlib>
#include <string>

namespace ringtrue {

// Empty where it is not set.
inline std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

}  // namespace ringtrue
