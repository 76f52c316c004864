// Whom an error or a finding concerns, as a key: compare its fields, never its text.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace ringtrue {

enum class Phase : std::uint8_t;  // base/phase.h

struct Subject {
  std::string node;    // by name; of what is on no node: what it is (a file, a flag, a link)
  std::string device;  // "mlx5_0/1"; empty: of no particular device
  int rank = -1;       // -1: of no particular rank
  Phase phase{};       // none: of no particular phase

  Subject() = default;
  Subject(const char* name) : node(name) {}
  Subject(std::string name, Phase in_phase = {}) : node(std::move(name)), phase(in_phase) {}

  bool empty() const { return *this == Subject(); }
  std::string text() const;  // "node3 run", "node3 mlx5_0/1", "node3 rank 2"
  bool operator==(const Subject&) const = default;
};

}  // namespace ringtrue
