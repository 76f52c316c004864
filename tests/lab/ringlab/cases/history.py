"""Recorded checks: what is usual is set by them, a sender that loses some percent is suspected, confirmed in seconds,
and over when it is repaired. The first of each pair is short, the second as an operator has it after a month."""
import os
import tempfile

from . import expect, register
from ..load import busy_core

RATE = 500
SLOW = 7  # percent


def state_of(lab, history):
    outcome = lab.cluster.ringtrue("regressions", "--json", *history)
    expect(outcome.data is not None, "no JSON", outcome)
    return outcome, {(r["subject"]["type"], r["subject"]["node"]): r["state"] for r in outcome.data["regressions"]}


def falls_and_recovers(checks, busy):
    def run(lab):
        with tempfile.TemporaryDirectory() as folder, busy_core(3600 if busy else 0):
            history = ["--history", os.path.join(folder, "history.db")]

            def check(*more):
                outcome = lab.cluster.fleet("check", "--link-rate", f"{RATE}Mbit", *history, *more)
                expect(outcome.data is not None and "not recorded" not in outcome.err, "not recorded", outcome)
                return outcome

            for _ in range(checks):
                check()
            outcome = lab.cluster.ringtrue("baseline", "set", "--json", *history)
            listed = lab.cluster.ringtrue("history", *history).out if outcome.code else ""
            expect(outcome.code == 0, f"baselines are refused; {listed}", outcome)
            for _ in range(3):
                check()
            outcome, states = state_of(lab, history)
            expect("confirmed" not in states.values(), f"healthy, and {states}", outcome)
            lab.network.degrade(5, RATE * (100 - SLOW) / 100, "egress")
            for _ in range(3 if busy else 1):
                check()
                outcome, states = state_of(lab, history)
                if states:
                    break
            expect(states.get(("sender", "node5")) in ("suspected", "confirmed"), f"{states}", outcome)
            expect(all(node == "node5" for (_, node), state in states.items() if state == "confirmed"), f"{states}", outcome)
            for _ in range(3 if busy else 1):  # beside a program that eats a core, readings may not agree at once
                outcome = check("--confirm", "node5")
                expect(outcome.seconds < 15, f"took {outcome.seconds:.1f} s, not under 15", outcome)
                outcome, states = state_of(lab, history)
                if outcome.code == 2:
                    break
            expect(states.get(("sender", "node5")) == "confirmed" and outcome.code == 2, f"{states}", outcome)
            lab.network.degrade(5, RATE, "egress")
            outcome = lab.cluster.ringtrue("history", "note", "node5", "--repair", "new cable", *history)
            expect(outcome.code == 0, "the repair is not noted", outcome)
            check()
            outcome, states = state_of(lab, history)
            expect("confirmed" not in states.values(), f"repaired, and {states}", outcome)
            outcome = lab.cluster.ringtrue("history", "node5", *history)
            expect(outcome.code == 0 and "recovered" in outcome.out, "it is not told", outcome)

    return run


for _busy in (False, True):
    _beside = "-busy" if _busy else ""
    register(f"history/sender-{SLOW}{_beside}", falls_and_recovers(14, _busy))
    register(f"history/sender-{SLOW}-month{_beside}", falls_and_recovers(30, _busy))
