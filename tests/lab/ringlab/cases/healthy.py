"""Nothing is wrong: check says so, every time, whatever else the machine does."""
import os

from . import expect, register
from .slow_wire import blamed, check
from ..load import busy_core


def healthy(times, rated, busy=False):
    def run(lab):
        for attempt in range(1, times + 1):
            with busy_core(30 if busy else 0):
                outcome = check(lab, rated)
            which = f"check {attempt} of {times}: "
            expect(not blamed(outcome.data), which + f"blames {blamed(outcome.data)}", outcome)
            expect(outcome.data["verdict"] == "healthy", which + f"verdict {outcome.data['verdict']}", outcome)
            expect(outcome.code == 0, which + f"exit {outcome.code}", outcome)

    return run


def few_ranks(lab):
    """A daemon that allows fewer ranks than a check likes to have on a node."""
    node = "node3"
    config = os.path.join(lab.cluster.directory, "few-ranks.toml")
    with open(config, "w") as file:
        file.write("[daemon]\nmax_ranks = 2\n")
    lab.cluster.stop(node)
    lab.cluster.start(node, extra=("--config", config))
    try:
        lab.cluster.wait_ready()
        healthy(1, True)(lab)
    finally:
        lab.cluster.stop(node)
        lab.cluster.start(node)


register("healthy/rated", healthy(2, True), quick=True)
register("healthy/unrated", healthy(2, False))
register("healthy/busy-core", healthy(1, True, busy=True), quick=True)
register("healthy/few-ranks", few_ranks, quick=True)
register("healthy/twenty-rated", healthy(20, True))
register("healthy/twenty-unrated", healthy(20, False))
register("healthy/busy-core-ten-rated", healthy(10, True, busy=True))
register("healthy/busy-core-ten-unrated", healthy(10, False, busy=True))
register("healthy/three-nodes", healthy(3, True), nodes=3)
register("healthy/two-nodes", healthy(3, True), nodes=2)
