"""Nodes with an RDMA device each on one Ethernet switch, all in one virtual machine, with a daemon on every node.

    10.77.0.1  node0  r0 (rxe0) ==veth== p0 --+
    10.77.0.2  node1  r1 (rxe1) ==veth== p1 --+-- br0     (p* and br0 in the namespace "fabric", the switch)
    ...

A stock kernel's rxe knows the first network namespace only, so all of them live in that one and differ by hostname and
address. What one device sends to another's address is routed over the switch, each way through a queue of its own:
rK's shapes what node K sends, pK's what it receives. Daemons talk over the loopback, as over a management network.
The last node is in a namespace of its own, where no RDMA device is to be seen.
"""
import json
import os
import re
import time

from . import sanitizer, virtual
from .network import LabError

NODES = 8  # with RDMA
PLAIN = 8  # the node without
MTU = 4200  # room for RDMA's 4096
PORT = 7464
LOGS, STATES = "/run/log", "/run/state"
QUEUE = "burst 32k limit 2m"


def address(node):
    return f"10.77.0.{node + 1}"


def network():
    """The kernel's own rule, that what is for this machine stays in it, comes last: packets that arrive by a veth are
    delivered; packets that leave by one, or from its address, are routed to the switch by that device's own table."""
    first = ["netns add fabric", f"link add br0 netns fabric mtu {MTU} up type bridge forward_delay 0 mcast_snooping 0",
             "rule add pref 50 lookup local", "rule del pref 0"]
    for node in range(NODES):
        mac, table, own = f"02:77:00:00:00:{node + 1:02x}", 100 + node, address(node)
        first += [f"link add r{node} mtu {MTU} address {mac} type veth peer name p{node} netns fabric",
                  f"addr add {own}/24 dev r{node} noprefixroute", f"link set r{node} up", route(node, "add"),
                  f"rule add pref 10 iif r{node} lookup local", f"rule add pref 11 oif r{node} to {own} lookup local",
                  f"rule add pref 12 from {own} to {own} lookup local", f"rule add pref 13 oif r{node} lookup {table}",
                  f"rule add pref 14 from {own} iif lo lookup {table}"]
    second = [f"link set p{node} mtu {MTU} master br0 up" for node in range(NODES)]
    first += [f"netns add plain", f"link add eth0 netns plain mtu {MTU} type veth peer name p{PLAIN} netns fabric"]
    second.append(f"link set p{PLAIN} mtu {MTU} master br0 up")
    third = ["link set lo up", f"addr add {address(PLAIN)}/24 dev eth0", "link set eth0 up"]
    lines = "\n".join
    return f"""rdma system set netns exclusive || exit 1
    cd /proc/sys/net/ipv4/conf
    echo 0 >all/rp_filter; echo 0 >default/rp_filter; echo 1 >all/accept_local
    echo 1 >all/arp_ignore; echo 2 >all/arp_announce
    ip -batch - <<'FIRST' && ip -n fabric -batch - <<'SECOND' && ip -n plain -batch - <<'THIRD' || exit 1
{lines(first)}
route add {address(PLAIN)} dev r0 src {address(0)}
FIRST
{lines(second)}
SECOND
{lines(third)}
THIRD
    for node in $(seq 0 {NODES - 1}); do rdma link add rxe$node type rxe netdev r$node || exit 1; done
    mkdir -p {LOGS} {STATES}; chmod 1777 {LOGS} {STATES}"""


def route(node, verb):
    return f"route {verb} 10.77.0.0/24 dev r{node} src {address(node)} table {100 + node}"


# node K COMMAND...: in the same process under K's hostname
NODE = """#!/bin/sh
name=node$1; shift
[ "$name" != nodePLAIN ] || set -- ip netns exec plain "$@"
exec unshare --uts /bin/sh -c 'hostname "$0"; exec "$@"' "$name" "$@"
"""

virtual.SHAPES["verbs"] = virtual.Shape(
    "", ("crc32_generic", "ib_uverbs", "rdma_rxe", "veth", "bridge", "sch_tbf", "sch_netem"), network(),
    ("rdma", "tc", "unshare", "setpriv", "setsid", "ib_write_bw"), memory=2560,
    ours=("ringtrue", "ringtrued", "ringtrue-worker", "ringtrue-probe"),
    files={"/usr/local/bin/node": NODE.replace("PLAIN", str(PLAIN)),
           "/etc/hosts": "127.0.0.1 localhost\n" + "".join(f"{address(k)} node{k}\n" for k in range(PLAIN + 1))})


class RdmaLab(virtual.VirtualLab):
    """What a case of such nodes gets. Nodes are numbers; commands run where all daemons can be reached."""

    def set_up(self):
        super().set_up()
        self.pids = {}
        for node in range(PLAIN + 1):
            self.start(node)
        self.wait_ready()

    # Daemons.

    def start(self, node, before="ulimit -l unlimited", wrapper=""):
        """before: shell in front of it, for limits. wrapper: words before the program."""
        command = f"{wrapper} ringtrued --listen {address(node)}:{PORT} --state {STATES}/node{node} --insecure " \
                  f"--node node{node}"
        self.pids[node] = int(self.shell(
            f"{before}\nsetsid node {node} {command} >>{LOGS}/node{node}.log 2>&1 & echo $!"))

    def wait_ready(self, seconds=30):
        until = time.monotonic() + seconds
        while (answer := self.fleet("nodes", nodes=PLAIN + 1)).code != 0:
            if time.monotonic() > until or not answer.data:
                raise LabError(f"the daemons do not answer: {answer}")
            time.sleep(0.2)

    def restart(self, node, **how):
        """The daemon anew, as start() makes it."""
        self.shell(f"kill -CONT {self.pids[node]}; kill {self.pids[node]}; "
                   f"for turn in $(seq 50); do [ -e /proc/{self.pids[node]}/exe ] || exit 0; sleep 0.1; done; "
                   f"kill -9 {self.pids[node]}")
        self.shell(f"rm -rf {STATES}/node{node}")
        self.start(node, **how)
        self.wait_ready()

    def revive(self):
        """A daemon where there is none."""
        lines = "".join(f"[ -e /proc/{pid}/exe ] || echo {node}\n" for node, pid in self.pids.items())
        for node in self.shell(f"{lines}true").split():
            self.start(int(node))
        self.wait_ready()

    def workers(self, node):
        """Pids of a node's worker processes."""
        text = self.shell("cat /proc/[0-9]*/stat || true")
        return [int(pid) for pid, owner in re.findall(r"^(\d+) \(ringtrue-worker\) \w (\d+) ", text, re.MULTILINE)
                if int(owner) == self.pids[node]]

    # The operator's commands.

    def words(self, *words, nodes=4, json=True):
        """nodes: how many, from the first one on, or a host list."""
        hosts = nodes if isinstance(nodes, str) else f"node[0-{nodes - 1}]"
        return " ".join(f"'{word}'" for word in ("ringtrue", *words, "--hosts", hosts, "--insecure")) + \
            (" --json" if json else "")

    def fleet(self, *words, nodes=4, seconds=120):
        """A command as JSON."""
        return self.run(self.words(*words, nodes=nodes), seconds)

    def begin_fleet(self, *words, nodes=4):
        """As fleet(), but goes on while other things happen: see finish_fleet()."""
        self.shell(f"rm -f /run/begun.*; ({self.words(*words, nodes=nodes)} >/run/begun.out 2>/run/begun.err & "
                   "echo $! >/run/begun.pid; wait $!; echo $? >/run/begun.code) >/dev/null 2>&1 &")
        self.begun = time.monotonic()

    def running(self):
        return self.machine.run("[ -e /run/begun.code ]").code != 0

    def finish_fleet(self, seconds):
        """Its outcome, 124 where it has not ended after so many seconds."""
        turns = int(seconds * 10)
        outcome = self.run(f"for turn in $(seq {turns}); do [ -e /run/begun.code ] && break; sleep 0.1; done; "
                           "cat /run/begun.out; cat /run/begun.err >&2; exit $(cat /run/begun.code || echo 124)",
                           seconds + 30)
        outcome.seconds = time.monotonic() - self.begun
        return outcome

    # Faults.

    def queue(self, node, side, *words):
        """Another queue for what a node sends ("egress") or receives ("ingress")."""
        place = {"egress": f"dev r{node}", "ingress": f"dev p{node}"}[side]
        self.shell(f"tc {'-n fabric ' if side == 'ingress' else ''}qdisc replace {place} root {' '.join(words)}")

    def slow(self, node, side, megabits):
        self.queue(node, side, f"tbf rate {megabits}mbit {QUEUE}")

    def lose(self, node, side, percent):
        self.queue(node, side, f"netem loss {percent}% limit 10000")

    def restore(self):
        """All links up and as fast as they can."""
        lines = "".join(f"ip link set r{node} up; ip {route(node, 'replace')}; tc qdisc del dev r{node} root\n"
                        f"ip -n fabric link set p{node} up; tc -n fabric qdisc del dev p{node} root\n"
                        for node in range(NODES))
        self.machine.run(f"{lines}rdma link show")

    # What is left.

    def resources(self):
        """How many objects of verbs user programs hold on each device; the kernel's own do not change."""
        found = json.loads(self.shell("rdma -j resource show"))
        return {entry["ifname"]: {kind: entry[kind] for kind in ("pd", "cq", "qp", "mr", "ctx")} for entry in found}

    def remains(self, before):
        """What a finished command may not leave behind, as lines. before: resources() at a quiet moment."""
        lines = [f"{device} has {now[kind]} {kind} instead of {before[device][kind]}"
                 for device, now in self.resources().items() for kind in now if now[kind] != before[device][kind]]
        text = self.shell("for path in /proc/[0-9]*; do read -r comm <$path/comm && case $comm in ringtrue*) "
                          "echo \"$comm ${path##*/} $(sed -n 's/^VmPin://p' $path/status)\";; esac; done; ls /dev/shm")
        for line in text.splitlines():
            program = re.fullmatch(r"ringtrued (\d+)\s+(\d+) kB", line)
            if not program or int(program[2]):
                lines.append(f"left: {line}")
        answer = self.fleet("nodes", nodes=PLAIN + 1)
        lines += [f"{state['node']}: still leased to {state['lease']}" for state in (answer.data or {}).get("nodes", [])
                  if state.get("lease")]
        return lines

    def expect_clean(self, before, seconds=8):
        until = time.monotonic() + seconds
        while lines := self.remains(before):
            if time.monotonic() > until:
                raise AssertionError("left behind: " + "; ".join(lines))
            time.sleep(0.3)

    # For the runner.

    def begin(self):
        super().begin()
        self.machine.run(f"for name in {LOGS}/*.log; do : >$name; done")

    def words_of_daemons(self):
        """And of their workers, in this case."""
        return self.machine.run(f"tail -n +1 {LOGS}/*.log").out

    def keep_logs(self):
        with open(os.path.join(os.path.dirname(self.log), "daemons.log"), "w") as file:
            file.write(self.words_of_daemons())

    def sanitizer_reports(self):
        with open(self.log, errors="replace") as file:
            return sanitizer.reports("daemons", self.words_of_daemons()) + sanitizer.reports("commands", file.read())

    def mend(self):
        super().mend()
        self.restore()
        self.revive()
