// A folder that is gone after the test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace ringtrue::fleet {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    char name[] = "/tmp/ringtrue-test-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name = {}) const { return name.empty() ? path_ : path_ + "/" + name; }

 private:
  std::string path_;
};

inline void put(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

}  // namespace ringtrue::fleet
