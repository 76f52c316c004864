// One end of an RDMA hop between two ranks on one lane, for one run.
//
// Messages are cut into slices. A slice is written (RDMA WRITE WITH IMM) into the next slot of a ring that
// the receiver has registered; the immediate says which slice it is, so that slices may come over several
// queue pairs and rails in any order and are taken in order. The sender needs a credit for each slot; the
// receiver gives them back as it takes slices, in batches, with an empty write of its own.
//
//   slot       16-byte head on a message's first slice: its length and number; then payload
//   immediate  2 bits what: slice, message's last slice, credits; 30 bits: number of the slice, or of credits
//
// Payload leaves from the ranks' registered memory, or is copied into the pool first; short messages are sent
// inline. Only the last write of a message, and now and then one in between, asks for a completion.
#pragma once

#include "transport/transport.h"

namespace ringtrue::transport::verbs {

class Channel : public transport::Channel {};

}  // namespace ringtrue::transport::verbs
