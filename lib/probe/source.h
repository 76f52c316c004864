// What the probes may ask of a machine: files, and the answers of libraries that talk to its hardware. A live
// machine answers, or a recording of one; the probes cannot tell which.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ringtrue::probe {

// Errors of all calls: bad_input where there is no such thing, refused without permission, unavailable for
// anything else (a device that is going away: ENODEV, EIO), deadline for a library that did not answer.
class Source {
 public:
  virtual ~Source() = default;
  // The text of a file, without trailing white space; at most 256 KiB.
  virtual Result<std::string> read(const std::string& path) = 0;
  // Names in a folder, sorted.
  virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
  // Where a symbolic link leads, as an absolute path without "..".
  virtual Result<std::string> link(const std::string& path) = 0;
  // What a library says (library.h lists them): "hwloc", "nvml", "verbs", "ethtool", "fabric", "routes",
  // "system".
  virtual Result<std::string> answer(std::string_view library) = 0;
};

// Everything that was read of a machine: small, whole, and enough to probe it again anywhere.
struct Recording {
  std::string node;     // its name
  std::string made_by;  // "ringtrue 0.1.0"
  std::string made_at;  // UTC, "2026-11-21T07:15:13Z"
  std::map<std::string, std::string> files;
  std::map<std::string, std::vector<std::string>> folders;
  std::map<std::string, std::string> links;
  std::map<std::string, std::string> answers;
  std::map<std::string, Error> errors;  // by path, or by library: what could not be read, and why
  // A second reading of the counters' files and of NVML, so many seconds later.
  double window_s = 0;
  std::map<std::string, std::string> later_files, later_answers;
  bool operator==(const Recording&) const = default;
};

// Answers from a recording. Paths are names in a map: nothing is opened, whatever they say.
class RecordedSource : public Source {
 public:
  explicit RecordedSource(const Recording& recording, bool later = false);
  Result<std::string> read(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  Result<std::string> link(const std::string& path) override;
  Result<std::string> answer(std::string_view library) override;

 private:
  const Recording& recording_;
  bool later_;  // later_files and later_answers first
};

// Passes questions on and keeps the answers.
class RememberingSource : public Source {
 public:
  RememberingSource(Source& inner, Recording& recording, bool later = false);
  Result<std::string> read(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  Result<std::string> link(const std::string& path) override;
  Result<std::string> answer(std::string_view library) override;

 private:
  Source& inner_;
  Recording& recording_;
  bool later_;
};

}  // namespace ringtrue::probe
