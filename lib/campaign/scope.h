// Which findings name a fault, and which name it exactly: by the smallest class of places that can be told
// apart at all.
//
// What can be told apart, by what all readings of a check could show:
//
// - With two nodes, one's sending side, the other's receiving side, the path between them, and the nodes and
//   NICs at its ends carry the same data: one class. Only what a receiver's program, a single rail or a
//   node that is silent shows goes beyond. With three nodes and more sides and paths differ, because a side
//   is seen with two partners.
// - Where all partners but one are slower than what a host's fault leaves, that one alone shows it, and the
//   two are as two nodes: the path between them, that way, is exact as well.
// - A node's only NIC and the node's links are one; with several rails a NIC is its own, whichever way.
// - A round trip crosses both ends' links both ways: added latency of a node's sending side, its receiving
//   side or both are one class, as are both directions of a path.
// - A leaf's trunks are told from its nodes, but with two leaves every hop between them crosses trunks of
//   both: one class. So are a spine then, and the two trunks by which it joins them.
// - A switch's hash is not known: which of the spines and cores, and which cable of a leaf's trunks, has no
//   name. One cable is seen as paths that share an end's leaf: those paths or the leaf are exact; of a cable
//   to a core the paths alone. A core is a spine: a switch above.
// - Where routes are told, a cable is named by both its ends' ports, one way or both, and only that is exact;
//   a leaf, a spine and a core by their names. With two leaves every way that crosses a trunk up crosses one
//   down, and so with two pods: they are one class.
// - A node both of whose sides are named is a named node.
#pragma once

#include "campaign/cases.h"
#include "diagnosis/accuracy.h"
#include "diagnosis/findings/report.h"

namespace ringtrue::campaign {

// What a partner can see of the fault of a host, as a share: a port that carries more than the partner's,
// still or again, shows no lack.
double severity_seen_by(int partner, const Case& c);

diagnosis::CaseScore score_case(const Case& c, const diagnosis::Diagnosis& diagnosis);

}  // namespace ringtrue::campaign
