"""A campaign against real kernels: one fault after another, healthy networks among them, and a table in the end.

`./dev lab campaign` runs them all; 'campaign/slow-out*' some. Nothing of 20 % and more may be missed, and nobody who
is in order is blamed; that the scope is exact is counted. Every check of a fault is one of the command that users type.
"""
import itertools

from . import expect, register
from .slow_wire import NODES, RATE, blamed, check

RESULTS = []  # (kind, faults, found, exact, wrong findings, runs, seconds) of the cases so far
SIDES = {"out": "egress", "in": "ingress", "node": "both"}
SCOPES = {"out": "sender", "in": "receiver", "node": "node"}


def touches(got, fault):
    """Is what is blamed about the fault's place, if only in part?"""
    return bool({got[1], got[2]} & set(fault[1:]))


def judged(kind, rated, make, faults=()):
    """faults: (type, node[, peer]) of each place that `make` spoils."""
    def run(lab):
        make(lab.network)
        outcome = check(lab, rated)
        got = blamed(outcome.data)
        found = [fault for fault in faults if any(touches(one, fault) for one in got)]
        wrong = [one for one in got if not any(touches(one, fault) for fault in faults)]
        exact = len(got) == len(faults) and all(any(one[:len(fault)] == fault for one in got) for fault in faults)
        RESULTS.append((kind, len(faults), len(found), exact, len(wrong), outcome.data["cost"]["runs"],
                        outcome.seconds))
        expect(not wrong, f"blames {wrong}; at fault: {list(faults)}", outcome)
        expect(len(found) == len(faults), f"finds {found} of {list(faults)}; blames {got}", outcome)
        expect(outcome.seconds < 20, f"took {outcome.seconds:.1f} s, not under 20", outcome)

    return run


def wilson(count, of):
    """The 95 % interval of a share (Wilson's score interval), in percent."""
    if not of:
        return "-"
    z, p = 1.959964, count / of
    middle = (p + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * (p * (1 - p) / of + z * z / (4 * of * of)) ** 0.5
    low, high = max(0, middle - half), min(1, middle + half)
    return f"{100 * p:.1f} % ({100 * (low if count else 0):.1f} % to {100 * (high if count < of else 1):.1f} %)"


def table(_lab):
    """Markdown, as docs/accuracy.md has it."""
    expect(RESULTS, "no case of the campaign ran before its table")
    print("# | kind | cases | recall | scope exact | false findings | rounds | seconds |")
    print("# |---|---|---|---|---|---|---|")
    for kind in [*dict.fromkeys(row[0] for row in RESULTS), "all"]:
        rows = [row for row in RESULTS if kind in (row[0], "all")]
        faulty, healthy = [row for row in rows if row[1]], [row for row in rows if not row[1]]
        runs, seconds = (sorted(row[i] for row in rows)[len(rows) // 2] for i in (5, 6))
        print(f"# | {kind} | {len(rows)} | {wilson(sum(row[2] == row[1] for row in faulty), len(faulty))} | "
              f"{wilson(sum(row[3] for row in faulty), len(faulty))} | "
              f"{wilson(sum(row[4] > 0 for row in healthy), len(healthy))} | {runs} | {seconds:.1f} |")


def name_of(node):
    return f"node{node}"


def add(name, kind, rated, make, faults=()):
    register(f"campaign/{name}{'-rated' if rated else ''}", judged(kind, rated, make, faults))


def nothing(_network):
    pass


def slow(*faults):
    """faults: (side, node, percent of the rate that is lost)."""
    def make(network):
        for side, node, lost in faults:
            network.degrade(node, RATE * (100 - lost) / 100, SIDES[side])

    return make


for _k, (_side, _lost) in enumerate(itertools.product(SIDES, (20, 30, 50, 75, 90))):
    _node = (3 * _k + 1) % NODES
    add(f"slow-{_side}-{name_of(_node)}-{_lost}", f"slow-{_side}", _k % 2 == 0,
        slow((_side, _node, _lost)), [(SCOPES[_side], name_of(_node))])

for _k, (_pair, _lost) in enumerate(itertools.product(((0, 1), (6, 2), (3, 7)), (20, 50, 80))):
    add(f"slow-path-node{_pair[0]}-node{_pair[1]}-{_lost}", "slow-path", _k % 2 == 0,
        lambda network, pair=_pair, lost=_lost: network.path(*pair, RATE * (100 - lost) / 100),
        [("path", name_of(_pair[0]), name_of(_pair[1]))])

for _k, (_side, _node) in enumerate(itertools.product(("out", "in"), (2, 5))):
    add(f"lossy-{_side}-{name_of(_node)}", "lossy", _k % 2 == 0,
        lambda network, node=_node, side=_side: network.lose(node, SIDES[side]),
        [(SCOPES[_side], name_of(_node))])

# A round trip crosses a node's links both ways: it is the node's.
for _k, (_side, _node) in enumerate(itertools.product(("out", "in"), (1, 4))):
    add(f"late-{_side}-{name_of(_node)}", "late", _k % 2 == 0,
        lambda network, node=_node, side=_side: network.delay(node, SIDES[side], 20), [("node", name_of(_node))])

for _k, (_first, _second) in enumerate(((("out", 1, 50), ("out", 5, 50)), (("in", 2, 30), ("in", 6, 50)),
                                        (("out", 0, 50), ("in", 4, 50)), (("in", 3, 20), ("out", 7, 20)),
                                        (("node", 1, 50), ("in", 6, 75)), (("out", 2, 90), ("out", 3, 20)))):
    add(f"two-{_k + 1}", "two", _k % 2 == 0, slow(_first, _second),
        [(SCOPES[side], name_of(node)) for side, node, _ in (_first, _second)])

for _k in range(32):
    add(f"healthy-{_k + 1}", "healthy", _k % 2 == 0, nothing)

register("campaign/table", table)
