"""A node dies before a check or in one of its stages: it costs itself alone. It is named as dead-node, a slow node
beside it is named too, nobody else is, and all of that within 20 seconds.

Every blow at every moment, alone and beside a slow node: 40 cases, and some beside a node that is slow both ways, which
is told by tests of two nodes. `all` has them one by one, `quick` some.
"""
import time

from . import expect, register
from .broken_peers import (DaemonKilled, DaemonStopped, DaemonUpgraded, LinkDown, VICTIM, WITHIN, Watched, Worker, WorkerKilled,
                           WorkerStopped, settled)
from .slow_wire import RATE, SERIOUS

SLOW = "node2"       # sends at half its rate, where a slow node is beside the dead one
PAUSE = 0.3          # seconds before a stage, so that the blow falls into its first experiment
# The last stage of a healthy fleet is that of the pairs: nothing is left to confirm.
MOMENTS = {"alone": ("before", "probe", "ring", "pairs"), "beside-slow": ("before", "probe", "pairs", "confirm"),
           "beside-slow-both": ("one-way",)}
KINDS = {"alone": None, "beside-slow": ("slow-sender", "egress"), "beside-slow-both": ("slow-node", "both")}


def finding_of(data, node):
    return next((f for f in data["findings"] if f["kind"] == "dead-node" and f["scope"].get("node") == node), None)


def dead(moment, blow, where):
    def run(lab):
        beside_slow = KINDS[where]
        words = ["check", "--link-rate", f"{RATE}Mbit"]
        if beside_slow:
            lab.network.degrade(SLOW, RATE * 50 / 100, beside_slow[1])
        at_once = moment == "before" and not isinstance(blow, Worker)  # a worker begins with the lease
        pause = "prepare" if moment == "before" else moment
        if at_once:
            blow.strike(lab)
        try:
            watched = Watched(lab, *words, *([] if at_once else ["--pause", f"{pause}={PAUSE}s"]))
            if not at_once:
                watched.wait_for_pause()
                if moment != "before":
                    time.sleep(PAUSE + 0.1)  # while bytes move
                blow.strike(lab)
            outcome = watched.finish(60)
        finally:
            blow.mend(lab)
            lab.network.restore()
        expect(outcome.data is not None, "no JSON", outcome)
        found = {(f["kind"], f["scope"].get("node")) for f in outcome.data["findings"] if f["severity"] in SERIOUS}
        wanted = {("dead-node", VICTIM)} | ({(beside_slow[0], SLOW)} if beside_slow else set())
        expect(found == wanted, f"found {sorted(found)}, not {sorted(wanted)}", outcome)
        expect(outcome.data["verdict"] == "faulty" and outcome.code == 2,
               f"verdict {outcome.data['verdict']}, exit {outcome.code}", outcome)
        expect(outcome.data.get("error") is None, "an error beside the verdict", outcome)
        expect(outcome.seconds <= WITHIN, f"took {outcome.seconds:.1f} s, not {WITHIN}", outcome)
        evidence = " ".join(finding_of(outcome.data, VICTIM)["evidence"])
        if moment in ("pairs", "confirm", "one-way"):
            expect("took part until then" in evidence, f"not what it did last: {evidence}", outcome)
        settled(lab)

    return run


QUICK = {("before", "daemon-killed", "alone"), ("pairs", "link-down", "beside-slow"),
         ("confirm", "worker-stopped", "beside-slow")}

for _where, _moments in MOMENTS.items():
    for _moment in _moments:
        for _blow in (DaemonKilled, DaemonStopped, WorkerKilled, WorkerStopped, LinkDown):
            register(f"dead-node/{_moment}-{_blow.name}-{_where}", dead(_moment, _blow(), _where),
                     quick=(_moment, _blow.name, _where) in QUICK)


def upgraded(moment, slow):
    """A daemon that is upgraded meanwhile accuses nobody: the others are measured, and its node is named."""
    def run(lab):
        if slow:
            lab.network.degrade(SLOW, RATE * 50 / 100, "egress")
        try:
            watched = Watched(lab, "check", "--link-rate", f"{RATE}Mbit", "--pause", f"{moment}={PAUSE}s")
            watched.wait_for_pause()
            time.sleep(PAUSE + 0.1)
            DaemonUpgraded().strike(lab)
            outcome = watched.finish(60)
        finally:
            lab.network.restore()
        expect(outcome.data is not None, "no JSON", outcome)
        found = {(f["kind"], f["scope"].get("node")) for f in outcome.data["findings"] if f["severity"] in SERIOUS}
        expect(found == ({("slow-sender", SLOW)} if slow else set()), f"found {sorted(found)}", outcome)
        expect(outcome.data["verdict"] == ("faulty" if slow else "healthy"), outcome.data["verdict"], outcome)
        left = [n for n in outcome.data["not_checked"] if n["kind"] == "daemon-stopping"]
        expect(len(left) == 1 and VICTIM in left[0]["what"], f"not named as being upgraded: {left}", outcome)
        expect(outcome.seconds <= WITHIN, f"took {outcome.seconds:.1f} s, not {WITHIN}", outcome)
        settled(lab)

    return run


for _moment, _slow in (("probe", False), ("ring", False), ("pairs", False), ("pairs", True)):
    register(f"upgrade/{_moment}" + ("-beside-slow" if _slow else ""), upgraded(_moment, _slow),
             quick=_moment == "pairs" and not _slow)
