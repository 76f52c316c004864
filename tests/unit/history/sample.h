// Histories for tests, in folders of their own.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "history/read.h"
#include "history/store.h"

namespace ringtrue::history::sample {

struct Folder {
  Folder() {
    char name[] = "/tmp/ringtrue-history-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() {
    chmod(path.c_str(), 0700);
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const char* name = "history.db") const { return path + "/" + name; }
  std::string path;
};

constexpr std::int64_t start_us = 1'700'000'000'000'000, hour_us = 3'600'000'000, day_us = 24 * hour_us;

// What a check of so many nodes leaves; all sides at that rate.
inline Record check(std::int64_t at_us, int nodes = 4, double rate = 60e6) {
  Record record;
  Session& s = record.session;
  s.fleet = "lab";
  s.started_us = at_us;
  s.ended_us = at_us + 9'000'000;
  s.verdict = "healthy";
  s.version = "0.1.0";
  s.fingerprint = "tcp ring";
  s.nodes = nodes;
  s.runs = 18;
  s.seconds = 9;
  for (int node = 0; node < nodes; ++node) {
    const std::string name = "node" + std::to_string(node);
    record.readings.push_back({{SubjectType::sender, name, "", ""}, Metric::rate, rate, nodes - 1});
    record.readings.push_back({{SubjectType::receiver, name, "", ""}, Metric::rate, rate, nodes - 1});
    record.facts.push_back({name, "eth0", "driver", "veth"});
  }
  record.readings.push_back({{}, Metric::busbw, rate / 2, 1});
  record.document = std::string(200, 'd');
  return record;
}

inline Store open(const std::string& file, OpenOptions options = {.write = true}) {
  auto store = Store::open(file, options);
  if (!store) ADD_FAILURE() << store.error().text();
  return std::move(*store);
}

}  // namespace ringtrue::history::sample
