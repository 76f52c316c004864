"""An RDMA port goes down, a peer dies or stops while bytes move: named in time, nothing left, the next run works."""
import time

from . import expect, register
from .wire_rate import results

VICTIM = 2
DEADLINE = 15  # seconds of the run that is struck
PHASE = 10     # seconds of any phase around it
GRACE = 5
AT_ONCE = 8    # seconds in which a death is told, at the most
WORDS = ("run", "ring", "--transport", "verbs", "--size", "4M", "--iterations", "2000", "--no-check",
         "--phase-deadline", f"{PHASE}s", "--deadline", f"{DEADLINE}s")


# Each blow: strike(lab) while bytes move, mend(lab) afterwards; `limit`: seconds until the command ends; `said`: a word
# that the error has beside the node's name.

class Process:
    limit, said = AT_ONCE, ""

    def __init__(self, number, daemon=False):
        self.number, self.daemon = number, daemon

    def strike(self, lab):
        self.pids = [lab.pids[VICTIM]] if self.daemon else lab.workers(VICTIM)
        expect(self.pids, f"node{VICTIM} has no worker to strike")
        lab.shell(f"kill -{self.number} {' '.join(map(str, self.pids))}")

    def mend(self, lab):
        lab.run(f"kill -CONT {' '.join(map(str, self.pids))}")


class Stopped(Process):
    limit = DEADLINE + PHASE + GRACE


class Port:
    """The device's own port, or the switch's at the other end of the cable."""
    limit, said = AT_ONCE, f"rxe{VICTIM}"

    def __init__(self, own):
        self.device = f"r{VICTIM}" if own else f"p{VICTIM}"
        self.where = "" if own else "-n fabric "

    def strike(self, lab):
        lab.shell(f"ip {self.where}link set {self.device} down")

    def mend(self, lab):
        lab.restore()


def in_flight(lab):
    """Until the run has had its queue pairs for a while."""
    until = time.monotonic() + 30
    while lab.resources()[f"rxe{VICTIM}"]["qp"] < 2:
        if not lab.running() or time.monotonic() > until:
            raise AssertionError(f"no queue pairs came to be\n{lab.finish_fleet(1)}")
    time.sleep(2)
    expect(lab.running(), "the run ended before it could be struck")


def settled(lab, before):
    lab.revive()
    lab.expect_clean(before)
    results(lab.fleet("run", "ring", "--transport", "verbs", "--size", "1M", "--iterations", "1"))
    lab.expect_clean(before)


def struck(blow):
    def run(lab):
        before = lab.resources()
        lab.begin_fleet(*WORDS)
        in_flight(lab)
        try:
            blow.strike(lab)
            hit = time.monotonic()
            outcome = lab.finish_fleet(DEADLINE + PHASE + 2 * GRACE)
            took = time.monotonic() - hit
        finally:
            blow.mend(lab)
        expect(took <= blow.limit, f"ended {took:.1f} s after the blow, not within {blow.limit}", outcome)
        expect(outcome.code == 3, f"exit {outcome.code}", outcome)
        expect(outcome.data is not None and outcome.data["error"], "no error in the JSON", outcome)
        error = outcome.data["error"]
        expect(error["where"].startswith(f"node{VICTIM}"), f"{error['where']} is named, not node{VICTIM}", outcome)
        expect(blow.said in error["what"], f"no word of {blow.said}", outcome)
        culprits = {failure["node"] for failure in error["failures"] if failure["culprit"]}
        expect(culprits == {f"node{VICTIM}"}, f"{culprits} are blamed", outcome)
        settled(lab, before)

    return run


def nothing_kept(lab):
    """Runs come and go, interrupted ones too."""
    before = lab.resources()
    for words in (("double-tree", "--size", "1M", "--iterations", "2"), ("ring", "--from", "1K", "--to", "1M", "--factor", "32")):
        results(lab.fleet("run", *words, "--transport", "verbs"))
        lab.expect_clean(before)
    lab.begin_fleet(*WORDS)
    in_flight(lab)
    lab.shell("kill -TERM $(cat /run/begun.pid)")  # a shell's background jobs do not hear SIGINT
    hit = time.monotonic()
    outcome = lab.finish_fleet(DEADLINE)
    expect(time.monotonic() - hit < AT_ONCE, "did not end at once", outcome)
    settled(lab, before)


def low_memlock(lab):
    """A node whose daemon is an ordinary user's, with Debian's old 64 KiB: it says what to raise."""
    lab.restart(1, before="ulimit -l 64", wrapper="setpriv --reuid 65534 --regid 65534 --clear-groups")
    try:
        outcome = lab.fleet("run", "ring", "--transport", "verbs", "--size", "1M")
        expect(outcome.code == 3, f"exit {outcome.code}", outcome)
        error = outcome.data["error"]
        expect(error["where"].startswith("node1"), f"{error['where']} is named, not node1", outcome)
        told = (error["what"] + error["next"]).lower()
        expect("memlock" in told, "no word of memlock", outcome)
        expect("64 KiB" in outcome.out, "no word of how much is allowed", outcome)
    finally:
        lab.restart(1)
    results(lab.fleet("run", "ring", "--transport", "verbs", "--size", "1M", "--iterations", "1"))


def port_down_thrice(lab):
    """While nobody measures: how often, of which device, and when, is told afterwards, by a check as well."""
    began = int(lab.shell("date +%s"))
    for _ in range(3):
        lab.shell(f"ip link set r{VICTIM} down; sleep 1; ip link set r{VICTIM} up; sleep 1")
    lab.restore()
    ended = int(lab.shell("date +%s"))
    outcome = lab.fleet("events", "--since", "10m", nodes=f"node{VICTIM}")
    expect(outcome.code == 0, "events failed", outcome)
    downs = [event for event in outcome.data["events"]
             if event["device"] == f"rxe{VICTIM}/1" and event["counter"] == "port_down"]
    expect(sum(event["count"] for event in downs) == 3, f"not three times: {downs}", outcome)
    expect(all(began - 6 <= event["first_s"] <= event["last_s"] <= ended + 1 for event in downs),
           f"not between {began} and {ended}: {downs}", outcome)
    others = {event["device"] for event in outcome.data["events"]} - {f"rxe{VICTIM}/1", f"r{VICTIM}"}
    expect(not others, f"others are said to have failed: {others}", outcome)
    check = lab.fleet("check", "--transport", "verbs", "--budget", "10s")
    told = [event for event in check.data["events"] if event["node"] == f"node{VICTIM}"]
    expect([event["count"] for event in told if event["device"] == f"rxe{VICTIM}/1"] == [3],
           "the check does not tell it", check)


for _name, _blow in (("worker-killed", Process(9)), ("daemon-killed", Process(9, daemon=True)),
                     ("worker-stopped", Stopped("STOP")), ("daemon-stopped", Stopped("STOP", daemon=True)),
                     ("port-down", Port(own=True)), ("cable-pulled", Port(own=False))):
    register(f"verbs/mid-run-{_name}", struck(_blow), quick=_name == "worker-killed", machine="verbs")
register("verbs/port-down-thrice", port_down_thrice, machine="verbs")
register("verbs/nothing-kept", nothing_kept, machine="verbs")
register("verbs/low-memlock", low_memlock, quick=True, machine="verbs")
