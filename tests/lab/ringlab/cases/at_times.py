"""A node's port is slow for a second and a half, well for one, and so on: most checks name it, and none another place.

Of two nodes it is the path between them."""
import contextlib
import threading

from . import expect, register
from .slow_wire import RATE, blamed, check

SLOW, WELL = 1.5, 1.0  # seconds


@contextlib.contextmanager
def comes_and_goes(network, node, side, percent):
    over = threading.Event()

    def turns():
        while True:
            network.degrade(node, RATE * percent / 100, side)
            if over.wait(SLOW):
                return
            network.degrade(node, RATE, side)
            if over.wait(WELL):
                return

    thread = threading.Thread(target=turns)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        network.degrade(node, RATE, side)


def at_times(node, side, percent, times):
    def run(lab):
        wanted = {("sender" if side == "egress" else "receiver", f"node{node}", None)}
        if lab.network.size == 2:
            ends = (f"node{node}", f"node{1 - node}")
            wanted = {("path", *(ends if side == "egress" else reversed(ends)))}
        named = 0
        for attempt in range(1, times + 1):
            with comes_and_goes(lab.network, node, side, percent):
                outcome = check(lab, True)
            found = set(blamed(outcome.data))
            if found == {("node", f"node{node}", None)}:
                found = wanted  # acknowledgements queue beside it, so that the other side may be low as well
            expect(found <= wanted, f"check {attempt} of {times}: {found} instead of {wanted}", outcome)
            expect(outcome.seconds < 20, f"took {outcome.seconds:.1f} s, not under 20", outcome)
            named += found == wanted
        expect(2 * named > times, f"{named} of {times} checks name {wanted}")

    return run


for _nodes in (2, 3, 4, 8):
    for _side in ("egress", "ingress"):
        register(f"at-times/{_side}-of-{_nodes}", at_times(1, _side, 30, 3), nodes=_nodes)
