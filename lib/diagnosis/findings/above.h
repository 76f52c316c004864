// A ring that is faster than its ideal: a wrong model, and never good news.
#pragma once

#include "diagnosis/findings/report.h"
#include "ideal/ideal.h"

namespace ringtrue::diagnosis {

// Holds the longest ring (ring_busbw; the probe where it is alone) against the ideal of one rank a node.
// `wires`: the rates that are known, declared or probed; its nodes and gpus_per_node do not matter. Sets the
// record's ideal, and adds a finding of severity info, kind "above-ideal", where the ring lies more than 2 %
// above it. Changes no verdict.
void hold_against_ideal(ideal::Inputs wires, Diagnosis& diagnosis);

}  // namespace ringtrue::diagnosis
