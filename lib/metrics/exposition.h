// Numbers for Prometheus, as its text format has them. What is unknown has no series: never 0.
//
// Written here and not by prometheus-cpp: Debian has no archive of it for the packages that have their
// libraries linked in, and the format is a page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ringtrue::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

struct Sample {
  Labels labels;
  double value = 0;
};

enum class Kind : std::uint8_t { gauge, counter };

// All series of one name.
struct Family {
  std::string name, help;
  Kind kind = Kind::gauge;
  std::vector<Sample> samples{};

  void add(Labels labels, double value) { samples.push_back({std::move(labels), value}); }
  void add(Labels labels, const std::optional<double>& value) {
    if (value) add(std::move(labels), *value);
  }
};

// Families without a series are left out. Bytes that are no UTF-8 become U+FFFD.
std::string exposition(const std::vector<Family>& families);

}  // namespace ringtrue::metrics
