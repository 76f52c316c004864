"""One wire, port, node or path is slow: check names it, and nobody else."""
import itertools
import shlex

from . import expect, register
from ..load import busy_core

NODES = 8
RATE = 500
SERIOUS = ("warning", "critical")


def blamed(data):
    """(type, node, peer) of every finding that would make an operator act."""
    return [(f["scope"].get("type"), member["node"] if member else f["scope"].get("node"), f["scope"].get("peer"))
            for f in data["findings"] if f["severity"] in SERIOUS for member in f.get("members", [None])]


def check(lab, rated, *extra, timeout=60):
    words = ["check", *extra] + (["--link-rate", f"{lab.network.rate:g}Mbit"] if rated else [])
    outcome = lab.cluster.fleet(*words, timeout=timeout)
    expect(outcome.data is not None, "no JSON", outcome)
    return outcome


def expect_named(outcome, wanted, within=20):
    """wanted: (type, node[, peer]) for each fault. All of them found, nothing else, and within so many seconds."""
    found = blamed(outcome.data)
    for fault in wanted:
        expect(any(got[:len(fault)] == fault for got in found), f"{fault} is not among {found}", outcome)
    for got in found:
        expect(any(got[:len(fault)] == fault for fault in wanted), f"{got} is blamed; only {wanted} is at fault",
               outcome)
    expect(outcome.data["verdict"] == "faulty", f"verdict {outcome.data['verdict']}", outcome)
    expect(outcome.code == 2, f"exit {outcome.code}, not 2", outcome)
    expect(outcome.seconds < within, f"took {outcome.seconds:.1f} s, not under {within}", outcome)


def slow_side(node, side, percent, rated, busy=False):
    scope = {"egress": "sender", "ingress": "receiver", "both": "node"}[side]

    def run(lab):
        lab.network.degrade(node, RATE * percent / 100, side)
        with busy_core(30 if busy else 0):
            expect_named(check(lab, rated), [(scope, f"node{node}")])

    return run


def slow_path(source, destination, percent, rated):
    def run(lab):
        lab.network.path(source, destination, RATE * percent / 100)
        outcome = check(lab, rated)
        expect_named(outcome, [("path", f"node{source}", f"node{destination}")])
        # The command beside a finding runs as it stands.
        program, *words = shlex.split(outcome.data["findings"][0]["command"])
        expect(program == "ringtrue", f"goes on with {program}", outcome)
        again = lab.cluster.ringtrue(*words, "--json", timeout=60)
        expect(again.code == 0 and len(again.data["nodes"]) == 2, "the pair is not seen again", again)

    return run


def two_faults(first, second, rated):
    def run(lab):
        wanted = []
        for node, side, percent in (first, second):
            lab.network.degrade(node, RATE * percent / 100, side)
            wanted.append(({"egress": "sender", "ingress": "receiver"}[side], f"node{node}"))
        # The budget of 16 s is doubled where one is proven and another node looks slow, too.
        expect_named(check(lab, rated), wanted, within=40)

    return run


def path_beside_receiver(node, destination, percent, rated):
    """One node's receiving side is slow, and so is what it sends to one other."""
    def run(lab):
        lab.network.path(node, destination, RATE * 50 / 100)
        lab.network.degrade(node, RATE * percent / 100, "ingress")
        expect_named(check(lab, rated), [("path", f"node{node}", f"node{destination}"), ("receiver", f"node{node}")])

    return run


QUICK_SIDES = {(3, "egress", 50, True), (0, "ingress", 50, False), (2, "ingress", 80, True)}

for _node, _side, _percent, _rated in itertools.product(range(NODES), ("egress", "ingress"), (80, 50, 10),
                                                        (True, False)):
    register(f"slow-wire/node{_node}-{_side}-{_percent}{'-rated' if _rated else ''}",
             slow_side(_node, _side, _percent, _rated), quick=(_node, _side, _percent, _rated) in QUICK_SIDES)

for _node, _percent, _rated in itertools.product(range(NODES), (80, 50, 10), (True, False)):
    register(f"slow-wire/node{_node}-both-{_percent}{'-rated' if _rated else ''}",
             slow_side(_node, "both", _percent, _rated), quick=(_node, _percent, _rated) == (2, 50, True))

for _source, _destination in ((0, 1), (1, 0), (2, 6), (7, 3), (4, 5), (7, 0)):
    for _percent, _rated in itertools.product((80, 50, 10), (True, False)):
        register(f"slow-wire/path-node{_source}-node{_destination}-{_percent}{'-rated' if _rated else ''}",
                 slow_path(_source, _destination, _percent, _rated),
                 quick=(_source, _percent, _rated) == (2, 50, True))

for _name, _first, _second in (
        ("senders", (1, "egress", 50), (5, "egress", 50)),
        ("receivers", (2, "ingress", 50), (6, "ingress", 50)),
        ("neighbours", (3, "egress", 50), (4, "ingress", 50)),
        ("sender-and-receiver", (0, "egress", 50), (4, "ingress", 50)),
        ("mild-receivers", (1, "ingress", 80), (5, "ingress", 80)),
        ("mild-neighbours", (3, "ingress", 80), (4, "egress", 80)),
        ("unlike", (1, "egress", 10), (6, "egress", 80)),
        ("unlike-neighbours", (2, "egress", 10), (3, "ingress", 80)),
        ("unlike-sides", (2, "ingress", 10), (5, "egress", 80))):
    for _rated in (True, False):
        register(f"slow-wire/two-{_name}{'-rated' if _rated else ''}", two_faults(_first, _second, _rated),
                 quick=(_name, _rated) == ("sender-and-receiver", True))

for _percent, _rated in itertools.product((80, 10), (True, False)):
    register(f"slow-wire/path-beside-receiver-{_percent}{'-rated' if _rated else ''}",
             path_beside_receiver(2, 6, _percent, _rated))

for _node, _side, _percent in ((3, "egress", 50), (6, "ingress", 80), (1, "egress", 10)):
    for _rated in (True, False):
        register(f"slow-wire/busy-core-node{_node}-{_side}-{_percent}{'-rated' if _rated else ''}",
                 slow_side(_node, _side, _percent, _rated, busy=True),
                 quick=(_node, _rated) == (3, True))


def many_nodes(nodes, percent, rated):
    """Several nodes are slow alike, both ways: each of them is named, or the part of the fleet that they are."""
    def run(lab):
        for node in nodes:
            lab.network.degrade(node, RATE * percent / 100, "both")
        outcome = check(lab, rated, timeout=90)
        names = {f"node{node}" for node in nodes}
        parts = [f for f in outcome.data["findings"] if f["kind"] == "mixed-generations"]
        if parts:
            told = "".join(e if isinstance(e, str) else str(e) for e in parts[0]["evidence"])
            expect(all(name in told for name in names), f"not all of {names} are told of in {told}", outcome)
            expect(outcome.data["verdict"] == ("degraded" if rated else "healthy"),
                   f"verdict {outcome.data['verdict']}", outcome)
        else:
            expect({node for _, node, _ in blamed(outcome.data)} == names, f"{blamed(outcome.data)} are named", outcome)
            expect(outcome.data["verdict"] == "faulty", f"verdict {outcome.data['verdict']}", outcome)
        expect(outcome.seconds < 40, f"took {outcome.seconds:.1f} s, not under 40", outcome)

    return run


for _name, _nodes, _percent in (("quarter", (2, 5), 50), ("half", (0, 3, 5, 6), 50), ("half-mild", (1, 2, 4, 7), 80)):
    for _rated in (True, False):
        register(f"slow-wire/{_name}-both{'-rated' if _rated else ''}", many_nodes(_nodes, _percent, _rated),
                 quick=(_name, _rated) == ("half", True))


def alike(side, nodes):
    """The same side of several nodes is slow alike: one finding, which has each of them."""
    kind = {"egress": "slow-sender", "ingress": "slow-receiver"}[side]

    def run(lab):
        for node in nodes:
            lab.network.degrade(node, RATE / 2, side)
        outcome = check(lab, True, timeout=90)
        serious = [f for f in outcome.data["findings"] if f["severity"] in SERIOUS]
        expect([f["kind"] for f in serious] == [kind], f"found {blamed(outcome.data)}", outcome)
        members = sorted(member["node"] for member in serious[0].get("members", []))
        expect(members == [f"node{node}" for node in nodes], f"members {members}", outcome)
        expect(outcome.data["verdict"] == "faulty", f"verdict {outcome.data['verdict']}", outcome)

    return run


for _side, _nodes in (("egress", (1, 4, 6)), ("ingress", (0, 2, 3))):
    register(f"slow-wire/alike-{_side}", alike(_side, _nodes), quick=_side == "egress")
