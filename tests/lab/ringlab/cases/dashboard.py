"""The dashboard on a real network, by keys that are typed: a link becomes slow, is found and shown."""
import os
import shutil
import sys

from . import expect, register
from ..network import Missing

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tui"))
from terminals import Tmux  # noqa: E402

RATE = 500
SLOW = 5  # the node
PATIENCE = 60  # seconds, for a check


def dashboard(lab, *words, **more):
    if shutil.which("tmux") is None:
        raise Missing("there is no tmux here (package tmux)")
    lab.cluster.program("ringtrue-tui")
    return Tmux(lab.cluster.command("tui", "--hosts", lab.cluster.hosts, "--pki", lab.cluster.pki, *words), **more)


def check(t, verdict):
    t.keys("c")
    t.says("start check of [0-9]+ nodes: .* held by nobody.* y starts it")
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


register("dashboard/story", story)
register("dashboard/cancelled", cancelled, quick=True)
