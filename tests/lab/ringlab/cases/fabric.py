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


for _shape, _fabric in SHAPES.items():
    for _k in range(5):
        register(f"fabric/{_shape}-healthy-{_k + 1}", healthy(False), fabric=_fabric, quick=_shape == "policy1" and _k == 0)
    register(f"fabric/{_shape}-healthy-told", healthy(True), fabric=_fabric)
    register(f"fabric/{_shape}-slow-sender", slow(2, 50, "egress", "sender"), fabric=_fabric)
    register(f"fabric/{_shape}-slow-receiver", slow(5, 70, "ingress", "receiver"), fabric=_fabric)
