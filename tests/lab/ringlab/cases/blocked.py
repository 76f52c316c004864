"""Data that does not get through at all: a firewall that drops or rejects connections to one node, between two or to all,
and a link that takes no long packets. The check says so, and measures the others; a run ends within seconds.
"""
from . import expect, register
from .slow_wire import RATE, SERIOUS

VICTIM, OTHER = "node5", "node2"
PORT = 7464  # of the daemons, which stays open
SYN = f"iifname eth0 tcp flags & (syn | ack) == syn tcp dport != {PORT}"  # what begins a data connection
CHECK = ["check", "--link-rate", f"{RATE}Mbit", "--budget", "2s"]


def found(outcome):
    expect(outcome.data is not None, "no JSON", outcome)
    return {(f["kind"], f["severity"], f["scope"]["type"], f["scope"].get("node"), f["scope"].get("peer"))
            for f in outcome.data["findings"] if f["severity"] in SERIOUS}


def filtered(lab, rules, words):
    """A command while nodes filter: by node, rules of what comes in."""
    try:
        for node, rule in rules.items():
            lab.network.filter(node, rule)
        return lab.cluster.fleet(*words, timeout=60)
    finally:
        for node in rules:
            lab.network.unfilter(node)


def check_finds(rules, wanted, left_out, verdict="faulty", says=()):
    def run(lab):
        outcome = filtered(lab, rules, CHECK)
        expect(found(outcome) == wanted, f"found {sorted(map(str, found(outcome)))}", outcome)
        expect(outcome.data["verdict"] == verdict, f"verdict {outcome.data['verdict']}", outcome)
        expect(outcome.data.get("error") is None, "an error beside the verdict", outcome)
        out = [n["names"] for n in outcome.data["not_checked"] if n["kind"] == "left-out-blocked"]
        expect(out == ([left_out] if left_out else []), f"left out {out}", outcome)
        measured = {node for result in outcome.data["results"] for node in result["order"]}
        expect(len(measured) == 0 if len(left_out) > 6 else len(measured) == 8 - len(left_out),
               f"measured {sorted(measured)}", outcome)
        evidence = " ".join(e for f in outcome.data["findings"] for e in f["evidence"])
        for word in says:
            expect(word in evidence, f"no word of {word}: {evidence}", outcome)
        lab.expect_clean()

    return run


def run_says(rules, words, node):
    """A run needs all of its nodes: it ends soon, and says who is cut off, and how."""
    def run(lab):
        outcome = filtered(lab, rules, ["run", "ring", "--size", "1M"])
        expect(outcome.code == 3 and outcome.data is not None, f"exit {outcome.code}", outcome)
        error = outcome.data["error"]
        expect(error["cause"] == "unreachable" and error["node"] == node, "not the node", outcome)
        for word in words:
            expect(word in error["what"], f"no word of {word}", outcome)
        expect(outcome.seconds < 6, f"took {outcome.seconds:.1f} s", outcome)
        lab.expect_clean()

    return run


def long_packets_vanish(lab):
    """All have an MTU of 9000, but the switch's port of one node. Control connections are spared."""
    network = lab.network
    try:
        for node in network.names():
            network.jumbo(node, port=1500 if node == VICTIM else 9000)
            network.filter(node, f"tcp dport {PORT} tcp option maxseg size set 1000",
                           f"tcp sport {PORT} tcp option maxseg size set 1000")
        outcome = lab.cluster.fleet(*CHECK, timeout=60)
    finally:
        for node in network.names():
            network.unfilter(node)
            network.jumbo(node, 1500, 1500)
    expect(found(outcome) == {("mtu-node", "critical", "node", VICTIM, None)}, f"found {found(outcome)}", outcome)
    evidence = " ".join(e for f in outcome.data["findings"] for e in f["evidence"])
    expect("packets of 9000 bytes vanish" in evidence and "MTU 9000" in evidence, f"evidence: {evidence}", outcome)
    lab.expect_clean()


def datagrams_say(rules, words, node, wanted):
    """Connections are let through, and so is all that a run asks for beforehand, but not its datagrams."""
    def run(lab):
        outcome = filtered(lab, rules, ["run", "omnireduce", "--transport", "udp", "--acked", "--size", "1M", "--no-ring",
                                        "--aggregators", "4", *words])
        expect(outcome.code == 3 and outcome.data is not None, f"exit {outcome.code}", outcome)
        error = outcome.data["error"]
        expect(error["cause"] == "unreachable" and error["node"] == node, "not the node", outcome)
        for word in wanted:
            expect(word in error["what"], f"no word of {word}", outcome)
        expect(outcome.seconds < 4, f"took {outcome.seconds:.1f} s", outcome)
        lab.expect_clean()

    return run


def networks_are_told(lab):
    outcome = lab.cluster.ringtrue("run", "ring", "--size", "64K", "--hosts", lab.cluster.hosts, "--pki", lab.cluster.pki)
    line = f"network: eth0 of node[0-7] ({lab.network.address('node0')} ... {lab.network.address('node7')}), " \
           "link rate unknown, MTU 1500"
    expect(line in " ".join(outcome.out.split()), "the network is not told", outcome)
    data = lab.cluster.fleet("run", "ring", "--size", "64K").data
    expect([n["address"] for n in data["networks"]] == [lab.network.address(n) for n in lab.network.names()],
           f"networks {data['networks']}")


def everyone(rule):
    return {f"node{i}": rule for i in range(8)}


IN = ("blocked-node", "critical", "receiver", VICTIM, None)
PAIR = ("blocked-path", "critical", "path", OTHER, VICTIM)
BETWEEN = f"ip saddr 10.77.0.3 {SYN}"  # from OTHER, where VICTIM filters
register("blocked/node-drop", check_finds({VICTIM: f"{SYN} drop"}, {IN}, [VICTIM],
                                          says=("no answer within 2 s", "10.77.0.6:", "eth0", "MTU 1500")), quick=True)
register("blocked/node-reject-run", run_says({VICTIM: f"{SYN} reject with tcp reset"},
                                             ("cannot connect to node5", "Connection refused", "10.77.0.6:"), VICTIM),
         quick=True)
register("blocked/pair-drop", check_finds({VICTIM: f"{BETWEEN} drop"}, {PAIR}, [VICTIM],
                                          says=("node2 -> node5", "node5 -> node2: connections are made")), quick=True)
register("blocked/pair-answers", check_finds(
    {OTHER: f"ip saddr 10.77.0.6 tcp flags & (syn | ack) == (syn | ack) tcp sport != {PORT} drop"}, {PAIR}, [VICTIM],
    says=("the answers vanish",)))
# A ring and its barrier connect nodes that are 1, 2 and 4 apart.
register("blocked/pair-reject-run", run_says({VICTIM: f"ip saddr 10.77.0.2 {SYN} reject"},
                                             ("node1 cannot connect to node5",), "node1"))
register("blocked/all-drop", check_finds(everyone(f"{SYN} drop"),
                                         {("blocked-fleet", "critical", "fleet", None, None)},
                                         [f"node{i}" for i in range(1, 8)]), quick=True)
register("blocked/all-reject-run", run_says(everyone(f"{SYN} reject"), ("cannot connect",), None))
register("blocked/other-order", check_finds({"node0": f"{SYN} drop"},
                                            {("blocked-node", "warning", "receiver", "node0", None)}, [],
                                            verdict="degraded"))
register("blocked/long-packets", long_packets_vanish, quick=True)
DATAGRAMS = "iifname eth0 meta l4proto udp"
register("blocked/datagrams-node-drop", datagrams_say({VICTIM: f"{DATAGRAMS} drop"}, (), VICTIM, (
    f"cannot send datagrams to {VICTIM}: UDP port 10.77.0.6:", "no answer within 2 s", "eth0, 10.77.0.6, MTU 1500")),
         quick=True)
register("blocked/datagrams-pair-reject", datagrams_say({"node1": f"ip saddr 10.77.0.6 {DATAGRAMS} reject"}, (), VICTIM, (
    f"{VICTIM} cannot send datagrams to node1: UDP port 10.77.0.2:", "rejects it (Connection refused)")))
register("blocked/datagrams-long", datagrams_say({VICTIM: f"{DATAGRAMS} meta length > 1000 drop"}, (), VICTIM, (
    "packets of 1", "vanish, short ones arrive", "eth0, 10.77.0.6, MTU 1500")), quick=True)
register("blocked/networks", networks_are_told, quick=True)
