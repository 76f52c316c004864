"""Checks of nodes below leaves whose trunks are hashed, of which they are told nothing or the leaves.

Colliding flows are the normal state of such a fabric: nobody may be named for them. Slow nodes are found as below one
switch. `./dev lab fabric` runs them all.
"""
import os

from . import expect, register
from .slow_wire import RATE, blamed, check

SHAPES = {"policy1": (2, 4, 1), "policy0": (2, 4, 0), "two-trunks": (2, 2, 1, 2.0), "oversubscribed": (2, 2, 1)}


def leaves_file(lab):
    path = os.path.join(lab.cluster.directory, "leaves.txt")
    with open(path, "w") as file:
        for name in lab.network.names():
            file.write(f"leaf{lab.network.leaf_of(lab.network.index(name))}: {name}\n")
    return path


def healthy(told):
    def run(lab):
        extra = ["--leaves", leaves_file(lab)] if told else []
        outcome = check(lab, False, *extra)
        expect(not blamed(outcome.data), f"blames {blamed(outcome.data)}", outcome)
        expect(outcome.data["verdict"] == "healthy", f"verdict {outcome.data['verdict']}", outcome)

    return run


def slow(node, lost, side, scope):
    def run(lab):
        lab.network.degrade(node, RATE * (100 - lost) / 100, side)
        outcome = check(lab, False)
        got = blamed(outcome.data)
        expect(len(got) == 1 and got[0][:2] == (scope, f"node{node}"), f"blames {got}", outcome)

    return run


def healthy_traced(lab):
    outcome = check(lab, False, "--routes", "trace")
    expect(any("traced to their end" in note for note in outcome.data["notes"]), f"notes {outcome.data['notes']}", outcome)
    expect(not blamed(outcome.data), f"blames {blamed(outcome.data)}", outcome)
    expect(outcome.data["verdict"] == "healthy", f"verdict {outcome.data['verdict']}", outcome)


def slow_trunk(spine, lost, side):
    """Of two leaves no hop tells the trunk to a spine from that on from it: either is named with the other."""

    def run(lab):
        lab.network.trunk(0, spine, RATE * lab.network.trunk_share * (100 - lost) / 100, side)
        outcome = check(lab, False, "--routes", "trace", "--budget", "30s")
        findings = [f for f in outcome.data["findings"] if f["severity"] in ("warning", "critical")]
        address = f"10.79.{spine if side == 'up' else 16 + spine}.2"
        expect(len(findings) == 1 and address in findings[0]["scope"]["device"], f"finds {findings}", outcome)

    return run


for _shape, _fabric in SHAPES.items():
    for _k in range(5):
        # Drawn anew by the kernel's hash each time, so a rate, not a fact: not among the quick ones.
        register(f"fabric/{_shape}-healthy-{_k + 1}", healthy(False), fabric=_fabric)
    register(f"fabric/{_shape}-healthy-told", healthy(True), fabric=_fabric)
    register(f"fabric/{_shape}-slow-sender", slow(2, 50, "egress", "sender"), fabric=_fabric)
    register(f"fabric/{_shape}-slow-receiver", slow(5, 70, "ingress", "receiver"), fabric=_fabric)


def hashed_otherwise(lab):
    """Ways that are others each time tell of no trunk, and the check says why: at most that one of the links
    between the leaves is slow at times, which is so."""
    lab.network.trunk(0, 1, RATE * 0.4, "up")
    outcome = check(lab, False, "--routes", "trace")
    expect(any("ways were others when traced again" in note for note in outcome.data["notes"]),
           f"notes {outcome.data['notes']}", outcome)
    names = [f["scope"]["device"] or "" for f in outcome.data["findings"]
             if f["kind"] in ("slow-trunk", "slow-cable", "slow-switch")]
    expect(all(name.startswith("the links between node[0-3] and ") for name in names), f"names {names}",
           outcome)


# A trunk of twice a node's rate shows when it has lost more than half.
for _shape, _fabric, _lost in (("four-trunks", (2, 4, 3), 60), ("two-trunks", (2, 2, 3, 2.0), 80)):
    for _k in range(3):
        register(f"fabric/traced-{_shape}-healthy-{_k + 1}", healthy_traced, fabric=_fabric,
                 quick=_shape == "four-trunks" and _k == 0)
    register(f"fabric/traced-{_shape}-slow-up", slow_trunk(1, _lost, "up"), fabric=_fabric)
    register(f"fabric/traced-{_shape}-slow-down", slow_trunk(0, _lost, "down"), fabric=_fabric)
register("fabric/traced-random", hashed_otherwise, fabric=SHAPES["policy1"])
