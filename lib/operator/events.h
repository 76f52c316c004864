// What the nodes' devices did while nobody measured, as their daemons saw it.
#pragma once

#include <cstdint>
#include <vector>

#include "fleet/fleet.h"
#include "operator/documents/events.h"
#include "operator/setup.h"

namespace ringtrue::ops {

// Of the daemons of the configured hosts. Fails where none tells anything.
Outcome<EventsDocument> events(const Setup& setup, Seconds since, const Control& control);

// What an operator has to know of before a check: one line a counter over all of that time, links that went
// down first, no more than `most`. Of several counters that tell of one link going down, one.
std::vector<NodeEvent> worth_telling(std::vector<NodeEvent> events, std::size_t most);

// Of these daemons, those that tell anything.
std::vector<NodeEvent> events_of(const std::vector<fleet::Target>& targets, const fleet::Options& options,
                                 Seconds since);

}  // namespace ringtrue::ops
