"""What the transport's own counters tell of a cause: lost packets, a receiver whose sockets are small."""
import re

from . import expect, register
from .slow_wire import SERIOUS, check

RATE = 100    # Mbit/s: packets one by one cost processors much
NODES = 6
VICTIM = "node4"
ONE_IN = 2048  # packets lost: 0.05 %


def serious(outcome):
    return [f for f in outcome.data["findings"] if f["severity"] in SERIOUS]


# So few losses may spare a check, and a queue of a healthy port that overflows once hides their share: in one of
# five, by chance.
TRIES = 4


def told(outcome):
    """What a check says of lost packets. It may miss them, but never blames others."""
    found = serious(outcome)
    expect(all(VICTIM in (f["scope"]["node"], f["scope"]["peer"]) for f in found), "others are blamed", outcome)
    return [e for f in found for e in f["evidence"] if "retransmissions: " in e or "were sent again" in e]


def loses(side):
    """One packet in 2,048 is lost: whatever that makes slow is of that node, and the retransmissions are said."""
    def run(lab):
        try:
            for node in lab.network.names():
                lab.network.one_by_one(node)
            lab.network.lose(VICTIM, side, ONE_IN)
            for _ in range(TRIES):
                outcome = check(lab, True)
                if causes := told(outcome):
                    break
        finally:
            for node in lab.network.names():
                lab.network.one_by_one(node, False)
        expect(causes, f"no word of retransmissions in {TRIES} checks", outcome)
        expect(any("segments" in e or "packets" in e for e in causes) and any(re.search(r"\b0\.[01]", e) for e in causes),
               f"not their share: {causes}", outcome)

    return run


def small_buffers(lab):
    usual = lab.network.sysctl(VICTIM, "net.ipv4.tcp_rmem")
    try:
        lab.network.sysctl(VICTIM, "net.ipv4.tcp_rmem", "4096 8192 8192")
        outcome = check(lab, True)
    finally:
        lab.network.sysctl(VICTIM, "net.ipv4.tcp_rmem", usual)
    found = [(f["kind"], f["scope"]["type"], f["scope"]["node"]) for f in serious(outcome)]
    expect(found == [("small-receive-buffer", "receiver", VICTIM)], f"found {found}", outcome)
    evidence = " ".join(serious(outcome)[0]["evidence"])
    expect("receive into 8 KiB" in evidence and "receive window" in evidence, f"evidence: {evidence}", outcome)


register("causes/loss-ingress", loses("ingress"), nodes=NODES, rate=RATE)
register("causes/loss-egress", loses("egress"), nodes=NODES, rate=RATE)
register("causes/small-buffers", small_buffers, nodes=NODES, rate=RATE, quick=True)
