"""Another job's stream goes from one node to another: the check tells of it, and accuses nobody."""
from . import expect, register
from .slow_wire import blamed, check, expect_named
from ..stream import between

SOURCE, DESTINATION = 3, 5
RATE = 300


def innocent(mbit, rated, times):
    def run(lab):
        unknown = 0
        for attempt in range(1, times + 1):
            with between(lab.network, SOURCE, DESTINATION, mbit):
                outcome = check(lab, rated)
            found = blamed(outcome.data)
            expect(not found, f"check {attempt} of {times}: {found} is blamed", outcome)
            expect(outcome.data["verdict"] in ("healthy", "unknown"), f"verdict {outcome.data['verdict']}", outcome)
            expect(any(f["kind"] == "others-traffic" for f in outcome.data["findings"]), "nothing of it is told", outcome)
            unknown += outcome.data["verdict"] == "unknown"
        expect(2 * unknown < times, f"{unknown} of {times} checks end unknown")

    return run


def beside_slow_sender(mbit):
    def run(lab):
        lab.network.degrade(DESTINATION, RATE * 40 / 100, "egress")
        with between(lab.network, SOURCE, DESTINATION, mbit):
            # Its tests are longer, and so is the budget.
            expect_named(check(lab, True), [("sender", f"node{DESTINATION}")], within=40)

    return run


register("others-traffic/half-of-a-port-rated", innocent(RATE / 2, True, 3), rate=RATE, quick=True)
register("others-traffic/half-of-a-port", innocent(RATE / 2, False, 3), rate=RATE)
register("others-traffic/a-full-port-rated", innocent(0, True, 3), rate=RATE)
register("others-traffic/beside-a-slow-sender", beside_slow_sender(RATE / 3), rate=RATE)
