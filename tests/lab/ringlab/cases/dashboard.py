"""The dashboard on a real network, by keys that are typed: a link becomes slow, is found, shown, and repaired."""
import contextlib
import os
import re
import shutil
import sys

from . import expect, register
from ..network import Missing

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tui"))
from terminals import Tmux, until  # noqa: E402

RATE = 500
SLOW = 5  # the node
PATIENCE = 60  # seconds, for a check


def dashboard(lab, *words, **more):
    if shutil.which("tmux") is None:
        raise Missing("there is no tmux here (package tmux)")
    lab.cluster.program("ringtrue-tui")
    return Tmux(lab.cluster.command("tui", "--hosts", lab.cluster.hosts, "--pki", lab.cluster.pki, *words), **more)


def check(t, verdict):
    def nobody_holds_them():  # which it knows once it has asked again
        t.keys("c")
        if "held by nobody" in t.says("^y starts check of [0-9]+ nodes: .*")[0]:
            return True
        t.keys("n")
        return False
    until("the nodes stay held", nobody_holds_them)
    t.keys("y")
    t.says("^check of [0-9]+ nodes: running")
    if verdict == "faulty":
        t.says(f"node{SLOW}'s sending side", PATIENCE)
    return t.says(f"^verdict: {verdict}.*", PATIENCE)[0]


def story(lab):
    with dashboard(lab, width=200, height=50) as t:
        t.says(f" {lab.network.size} nodes")
        t.says(r"^   node0 ")
        check(t, "healthy")
        lab.network.degrade(SLOW, RATE / 2, "egress")
        expect("slow-sender" in check(t, "faulty"), "the verdict does not say what is wrong")
        t.keys("1")
        t.says(f"^! +node{SLOW} ")
        t.keys("2")
        t.says(f"^! +critical +slow-sender +node{SLOW}'s sending side")
        # What the command says of the same network.
        outcome = lab.cluster.fleet("check", timeout=PATIENCE)
        expect(outcome.data is not None and outcome.data["verdict"] == "faulty", "no JSON of a fault", outcome)
        finding = outcome.data["findings"][0]
        expect((finding["kind"], finding["scope"]["node"]) == ("slow-sender", f"node{SLOW}"), "another finding", outcome)
        t.keys("y")
        t.says(f"^{re.escape(finding.get('command') or 'there is no command for this')}( |$)")
        t.keys("3")
        t.says(f"^node{SLOW} .* [45][0-9]!")
        t.keys("5")
        t.says(f"^node{SLOW} sends, MB/s")
        expect(sum(bool(re.search(" (healthy|faulty) ", line)) for line in t.lines()) == 2, "\n".join(t.lines()))
        t.keys("[")
        t.says("FAULTY as of ")
        t.keys("[")
        t.says("HEALTHY as of ")
        t.keys("1")
        expect(not any(line.startswith("!") for line in t.lines()), "\n".join(t.lines()))
        t.keys("]", "]")
        t.says(f"^! +node{SLOW} ")
        lab.network.degrade(SLOW, RATE, "egress")
        check(t, "healthy")
        t.keys("5")
        t.says(r"^ +! +\+$")  # what was found, and that it recovered
        t.keys("1")
        t.says(f"^   node{SLOW} ")
        t.keys("q")
        t.ended(0)
    lab.expect_clean()


def cancelled(lab):
    """A check that is cancelled leaves nothing, and another may start at once."""
    with dashboard(lab) as t:
        t.says(f" {lab.network.size} nodes")
        t.keys("c", "y")
        t.says("^[1-9][0-9]* runs", PATIENCE)
        t.keys("x")
        t.says("cancelled; nothing is held", 5)
        lab.expect_clean()
        t.keys("q")
        t.ended(0)


def harmless(lab):
    """Twenty dashboards that watch a fleet do not slow what runs on it by 1 %."""
    def rate():
        rates = []
        for _ in range(3):
            outcome = lab.cluster.fleet("run", "ring", "--size", "64M", "--iterations", "3")
            expect(outcome.code == 0 and outcome.data["results"], "the run failed", outcome)
            rates.append(outcome.data["results"][0]["busbw_Bps"])
        return max(rates)

    alone = rate()
    with contextlib.ExitStack() as stack:
        watching = [stack.enter_context(dashboard(lab)) for _ in range(20)]
        for t in watching:
            t.says(" 8 nodes")
        beside = rate()
        for t in watching:
            t.keys("q")
            t.ended(0)
    expect(beside > 0.99 * alone, f"{alone / 1e6:.2f} MB/s alone, {beside / 1e6:.2f} MB/s beside 20 dashboards")


register("dashboard/story", story)
register("dashboard/harmless", harmless)
register("dashboard/cancelled", cancelled, quick=True)
