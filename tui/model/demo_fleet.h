// The fleet of --demo: 32 modelled nodes with faults that come and go, the same for the same time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "operator/progress.h"
#include "tui/model/moment.h"

namespace ringtrue::tui {

inline constexpr int demo_nodes = 32;

// What is wrong, `days` (of history) and `seconds` (since the start, of what changes while one looks) after
// the demo's beginning of time.
std::string demo_faults(double days, double seconds);

// A check of the fleet with these faults, by the diagnosis that checks of live nodes use. `tell`: its
// progress, and `go_on` false ends it. nullptr where it was ended.
std::shared_ptr<const Moment> demo_check(const std::string& faults, double when, std::uint64_t seed,
                                         const ops::progress::Sink& tell = {},
                                         const std::function<bool()>& go_on = {});

std::shared_ptr<const Topology> demo_topology();

}  // namespace ringtrue::tui
