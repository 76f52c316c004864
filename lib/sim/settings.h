// A fabric from words: named settings, over one another, as flags and files give them; and known machines.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/fabric.h"

namespace ringtrue::sim {

// One that is being described.
struct Description {
  Fabric fabric;
  std::optional<BytesPerSecond> per_node;  // what the rails carry together, where that was said
  BytesPerSecond few_gpus;                 // Preset::few_gpus

  // The fabric that the settings make, checked. Errors: bad_input.
  Result<Fabric> finished() const;
};

struct Setting {
  std::string_view name;  // "gpus-per-node": as a flag behind "--", in a file with '_' for '-'
  std::string_view type;  // "N", "RATE", "TIME", "RATIO", "WORD", "SPEC"
  std::string_view help;
  Result<void> (*set)(Description&, std::string_view text);
};
std::span<const Setting> settings();

// Sets one; "preset" sets many. Errors (bad_input): no such setting, an invalid value.
Result<void> set(Description& description, std::string_view name, std::string_view text);

struct Preset {
  std::string_view name;
  std::string_view summary;
  void (*describe)(Fabric&);
  // Fabric::gpu_pcie of nodes that have fewer GPUs than NICs, unless it is said. Where all of them are there,
  // they drive all NICs, and detours would cost the simulation more than they change.
  BytesPerSecond few_gpus{};
};
std::span<const Preset> presets();

}  // namespace ringtrue::sim
