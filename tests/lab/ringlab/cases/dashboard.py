"""The dashboard on a real network, by keys that are typed."""
import os
import shutil
import sys

from . import expect, register
from ..network import Missing

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tui"))
from terminals import Tmux  # noqa: E402

PATIENCE = 60  # seconds, for a check


def dashboard(lab, *words, **more):
    if shutil.which("tmux") is None:
        raise Missing("there is no tmux here (package tmux)")
    lab.cluster.program("ringtrue-tui")
    return Tmux(lab.cluster.command("tui", "--hosts", lab.cluster.hosts, "--pki", lab.cluster.pki, *words), **more)


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


register("dashboard/cancelled", cancelled, quick=True)
