"""A small cluster of network namespaces whose links have a known rate in each direction.

    node0:eth0 ==veth== p0 --+
    node1:eth0 ==veth== p1 --+-- br0      (p* and br0 in a namespace of their own, the switch)
    ...

What a node sends is shaped by a tbf on its eth0, what it receives by a tbf on the switch's end. Both count
layer-2 bytes (MTU + 14), so TCP carries at most (MTU - 52)/(MTU + 14) of the rate as payload.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import time

MTU = 1500
PAYLOAD_SHARE = (MTU - 52) / (MTU + 14)


class LabError(Exception):
    """One line for the person who runs the lab."""


class Missing(Exception):
    """What this machine's kernel lacks for a case; the case is skipped."""


def megabits(text):
    """500, "500", "500Mbit", "1Gbit" as Mbit/s."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(|m|mbit|g|gbit)", str(text).strip().lower())
    if not match or float(match[1]) <= 0:
        raise LabError(f"'{text}' is not a rate; write 500, 500Mbit or 1Gbit")
    return float(match[1]) * (1000 if match[2].startswith("g") else 1)


def sh(*command, text=None):
    run = subprocess.run(command, input=text, stdin=None if text is not None else subprocess.DEVNULL,
                         capture_output=True, text=True)
    if run.returncode != 0:
        lines = (run.stderr or run.stdout).strip().splitlines() or ["no reason given"]
        raise LabError(f"{' '.join(command)}: {lines[-1]}")
    return run.stdout


def bucket(rate):
    """tbf's burst and limit in bytes for a rate in Mbit/s.

    A veth carries super-packets of 64 KiB; a burst below that makes tbf split each, which costs as much
    processor time as all the rest, so never below 128 KiB. More than about a millisecond's worth would let short
    messages pass faster than the link. The limit, 20 ms, is where a congested port begins to drop.
    """
    per_ms = int(rate * 125)
    burst = max(per_ms, 131072)
    return burst, burst + 20 * per_ms


class Network:
    peers = None  # networks of nodes beside those of a node's own interfaces

    def __init__(self, prefix="node", net="10.77.0"):
        self.prefix, self.net = prefix, net
        self.switch = f"{prefix}sw"
        self.scratch = os.environ.get("RINGTRUE_SANDBOX")
        self.file = os.path.join(self.scratch or "/run", f"netlab-{prefix}.json")
        self.state = {}
        if os.path.exists(self.file):
            with open(self.file) as file:
                self.state = json.load(file)

    # What there is.

    @property
    def size(self):
        return self.state.get("nodes", 0)

    @property
    def rate(self):
        return self.state["rate"]

    @property
    def congestion(self):
        return self.state["congestion"]

    def names(self):
        return [f"{self.prefix}{i}" for i in range(self.size)]

    def address(self, node):
        return f"{self.net}.{self.index(node) + 1}"

    def index(self, node):
        """3, "3" and "node3" all mean the fourth node."""
        text = str(node).removeprefix(self.prefix)
        if not text.isdigit() or int(text) >= self.size:
            raise LabError(f"no node '{node}' among {self.size}; is the lab up?")
        return int(text)

    def command(self, node, command):
        """`command` as it is run on a node: in its namespace and under its hostname, in the same process."""
        name = f"{self.prefix}{self.index(node)}"
        enter = ["ip", "netns", "exec", name]
        if self.state["enter"] == "nsenter":
            enter = ["nsenter", f"--net=/run/netns/{name}", "--"]
        named = ["unshare", "--uts", "sh", "-c", 'hostname "$0"; exec "$@"', name]
        return enter + named + [str(word) for word in command]

    # Making and unmaking it.

    def up(self, nodes, rate):
        if self.size:
            raise LabError(f"a lab '{self.prefix}' is up already; take it down first")
        if not 1 <= nodes <= 250:
            raise LabError(f"{nodes} nodes: give 1 to 250")
        rate = megabits(rate)
        # From here on `down` has something to remove, whatever fails.
        self.state = {"nodes": nodes, "rate": rate, "paths": [], "enter": "ip", "congestion": ""}
        self._save()
        try:
            self._make(nodes)
        except (LabError, OSError):
            self.down()
            raise

    def _make(self, nodes):
        sh("ip", "netns", "add", self.switch)
        sh("ip", "-n", self.switch, "-batch", "-", text=f"""link set lo up
link add br0 mtu {MTU} type bridge forward_delay 0 mcast_snooping 0
link set br0 up
""")
        for i, name in enumerate(self.names()):
            sh("ip", "netns", "add", name)
            sh("ip", "link", "add", "eth0", "netns", name, "mtu", str(MTU), "address", self._mac(i),
               "type", "veth", "peer", "name", f"p{i}", "netns", self.switch, "mtu", str(MTU))
            # Neighbours are given, so that no ARP exchange gets into a measurement.
            neighbours = "".join(f"neigh replace {self.net}.{j + 1} lladdr {self._mac(j)} dev eth0\n"
                                 for j in range(nodes) if j != i)
            sh("ip", "-n", name, "-batch", "-",
               text=f"link set lo up\naddr add {self.address(i)}/24 dev eth0\nlink set eth0 up\n{neighbours}")
        sh("ip", "-n", self.switch, "-batch", "-",
           text="".join(f"link set p{i} master br0 up\n" for i in range(nodes)))
        if not self._works(["ip", "netns", "exec", self.names()[0], "true"]):
            self.state["enter"] = "nsenter"  # a container may forbid the fresh /sys that ip mounts
        self._choose_congestion()
        self._write_hosts()
        self.restore()

    def _mac(self, i):
        return f"02:77:00:00:00:{i + 1:02x}"

    @staticmethod
    def _works(command):
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0

    def _choose_congestion(self):
        """cubic where the kernel lets a namespace have it: bbr's probing makes short runs wander."""
        for name in ("cubic", "reno"):
            setting = f"net.ipv4.tcp_congestion_control={name}"
            extra = "net.ipv4.tcp_no_metrics_save=1"
            if all(self._works(self.command(node, ["sysctl", "-qw", setting, extra])) for node in self.names()):
                self.state["congestion"] = name
                break
        self._save()

    def _write_hosts(self):
        text = "127.0.0.1 localhost\n" + "".join(f"{self.address(name)} {name}\n" for name in self.names())
        if self.scratch:
            # The sandbox's mounts are its own: one file over /etc/hosts serves every node.
            path = os.path.join(self.scratch, "hosts")
            with open(path, "w") as file:
                file.write(text)
            sh("mount", "--bind", path, "/etc/hosts")
            return
        for name in self.names():  # `ip netns exec` puts these in the place of /etc/hosts
            os.makedirs(f"/etc/netns/{name}", exist_ok=True)
            with open(f"/etc/netns/{name}/hosts", "w") as file:
                file.write(text)

    def down(self):
        if not self.size:
            return
        for name in self.names() + self._switches():
            if not os.path.exists(f"/run/netns/{name}"):
                continue
            self._end_processes(name)
            sh("ip", "netns", "del", name)
            if os.path.exists(f"/etc/netns/{name}/hosts"):
                os.unlink(f"/etc/netns/{name}/hosts")
                os.rmdir(f"/etc/netns/{name}")
        if self.scratch and os.path.exists(os.path.join(self.scratch, "hosts")):
            subprocess.run(["umount", "/etc/hosts"], capture_output=True)
        os.unlink(self.file)
        self.state = {}

    def _switches(self):
        return [self.switch]

    @staticmethod
    def _end_processes(name):
        """Whatever still lives in the namespace of that name: asked first, then made to."""
        for number, patience in ((signal.SIGTERM, 1.0), (signal.SIGKILL, 2.0)):
            until = time.monotonic() + patience
            asked = set()
            while pids := [int(pid) for pid in sh("ip", "netns", "pids", name).split()]:
                for pid in set(pids) - asked:
                    asked.add(pid)
                    try:
                        os.kill(pid, signal.SIGCONT)
                        os.kill(pid, number)
                    except ProcessLookupError:
                        pass
                if time.monotonic() > until:
                    break
                time.sleep(0.05)

    def _save(self):
        with open(self.file, "w") as file:
            json.dump(self.state, file)

    # Faults.

    def _sender(self, i):
        return f"{self.prefix}{i}", "eth0"

    def _receiver(self, i):
        return self.switch, f"p{i}"

    @staticmethod
    def _tbf(place, rate):
        namespace, device = place
        burst, limit = bucket(rate)
        # Deleted first: tc cannot change one kind of queue into another in place.
        subprocess.run(["tc", "-n", namespace, "qdisc", "del", "dev", device, "root"], capture_output=True)
        sh("tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "handle", "1:", "tbf",
           "rate", f"{rate}mbit", "burst", str(burst), "limit", str(limit))

    def degrade(self, node, rate, side="egress"):
        """side: egress (what the node sends), ingress (what it receives) or both."""
        i, rate = self.index(node), megabits(rate)
        if side not in ("egress", "ingress", "both"):
            raise LabError(f"side '{side}': write egress, ingress or both")
        if side in ("egress", "both"):
            self._tbf(self._sender(i), rate)
        if side in ("ingress", "both"):
            self._tbf(self._receiver(i), rate)

    def path(self, source, destination, rate):
        """Slows what one node sends to one other, and nothing else."""
        source, rate = self.index(source), megabits(rate)
        paths = [p for p in self.state["paths"] if p[:2] != [source, self.index(destination)]]
        self.state["paths"] = paths + [[source, self.index(destination), rate]]
        self._save()
        namespace, device = self._sender(source)
        burst, limit = bucket(self.rate)
        subprocess.run(["tc", "-n", namespace, "qdisc", "del", "dev", device, "root"], capture_output=True)
        rules = [
            f"qdisc add dev {device} root handle 1: htb default 2",
            f"class add dev {device} parent 1: classid 1:1 htb rate {self.rate}mbit burst {burst} cburst {burst} "
            "quantum 65536",
            f"class add dev {device} parent 1:1 classid 1:2 htb rate {self.rate}mbit burst {burst} cburst {burst} "
            "quantum 65536",
            f"qdisc add dev {device} parent 1:2 bfifo limit {limit}",
        ]
        for number, (_, to, slow) in enumerate((p for p in self.state["paths"] if p[0] == source), start=3):
            slow_burst, slow_limit = bucket(slow)
            rules += [
                f"class add dev {device} parent 1:1 classid 1:{number} htb rate {slow}mbit burst {slow_burst} "
                f"cburst {slow_burst} quantum 65536",
                f"qdisc add dev {device} parent 1:{number} bfifo limit {slow_limit}",
                f"filter add dev {device} parent 1: protocol ip prio 1 u32 match ip dst {self.address(to)}/32 "
                f"flowid 1:{number}",
            ]
        sh("tc", "-n", namespace, "-batch", "-", text="\n".join(rules) + "\n")

    def lose(self, node, side, one_in=32):
        """Drops one of so many packets (super-packets, on a veth) that the node sends or receives, a power of two from
        8 on: by their IP ids, which count up, but for packets that begin a connection."""
        i = self.index(node)
        namespace, device = self._behind(i) if side == "egress" else self._receiver(i)
        burst, limit = bucket(self.rate)
        subprocess.run(["tc", "-n", namespace, "qdisc", "del", "dev", device, "root"], capture_output=True)
        share = f"rate {self.rate}mbit burst {burst} cburst {burst} quantum 65536"
        sh("tc", "-n", namespace, "-batch", "-", text=f"""qdisc add dev {device} root handle 1: htb default 2
class add dev {device} parent 1: classid 1:1 htb {share}
class add dev {device} parent 1:1 classid 1:2 htb {share}
class add dev {device} parent 1:1 classid 1:3 htb {share}
qdisc add dev {device} parent 1:2 bfifo limit {limit}
qdisc add dev {device} parent 1:3 bfifo limit 1
filter add dev {device} parent 1: protocol ip prio 1 u32 match u16 5 {one_in - 1:#06x} at 4 flowid 1:3
""")

    def _behind(self, i):
        """A second cable between the node's and the switch: what is lost there has left the node, whose kernel would
        not take a drop in its own queue for a loss."""
        sh("ip", "-n", self.switch, "-batch", "-", text=f"""link add b{i} type bridge forward_delay 0 mcast_snooping 0
link add c{i} mtu {MTU} type veth peer name d{i} mtu {MTU}
link set p{i} master b{i}
link set c{i} master b{i} up
link set d{i} master br0 up
link set b{i} up
""")
        return self.switch, f"c{i}"

    def delay(self, node, side, milliseconds):
        """Later by so much, at the same rate. Raises Missing where the kernel has no netem."""
        i = self.index(node)
        namespace, device = self._sender(i) if side == "egress" else self._receiver(i)
        sh("tc", "-n", namespace, "qdisc", "del", "dev", device, "root")
        done = subprocess.run(["tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "netem", "delay",
                               f"{milliseconds}ms", "rate", f"{self.rate}mbit", "limit", "10000"], capture_output=True)
        if done.returncode != 0:
            raise Missing("this kernel has no netem")

    def filter(self, node, incoming, outgoing=""):
        """A rule of a firewall on the node, for what comes in, and another for what it sends. Raises Missing where there
        is no nft."""
        if not shutil.which("nft"):
            raise Missing("no nft here (Debian's package nftables)")
        rules = "".join(f"chain {hook} {{ type filter hook {hook} priority 0; {rule}; }}\n"
                        for hook, rule in (("input", incoming), ("output", outgoing)) if rule)
        sh(*self.command(node, ["nft", "-f", "-"]), text=f"table inet lab {{\n{rules}}}\n")

    def unfilter(self, node):
        subprocess.run(self.command(node, ["nft", "delete", "table", "inet", "lab"]), capture_output=True)

    def jumbo(self, node, mtu=9000, port=9000):
        """Another MTU of a node and of the switch's port. Super-packets, whose length no port looks at, are off."""
        i = self.index(node)
        sh("ip", "-n", self.switch, "link", "set", f"p{i}", "mtu", str(port))
        sh(*self.command(node, ["ip", "link", "set", "eth0", "mtu", str(mtu)]))
        self.one_by_one(node, mtu > MTU)

    def one_by_one(self, node, on=True):
        """Packets as they are on wires, instead of super-packets."""
        state = "off" if on else "on"
        sh(*self.command(node, ["ethtool", "-K", "eth0", "tso", state, "gso", state]))

    def sysctl(self, node, name, value=None):
        """Sets it, where a value is given; what it is then."""
        if value is not None:
            sh(*self.command(node, ["sysctl", "-qw", f"{name}={value}"]))
        return sh(*self.command(node, ["sysctl", "-n", name])).strip()

    def restore(self, node=None):
        """One node's link, or all of them, back at the lab's rate and up."""
        nodes = range(self.size) if node is None else [self.index(node)]
        for i in nodes:
            self._tbf(self._sender(i), self.rate)
            self._tbf(self._receiver(i), self.rate)
            self.link(i, "up")
            if self._works(["ip", "-n", self.switch, "link", "del", f"b{i}"]):
                sh("ip", "-n", self.switch, "-batch", "-", text=f"link del c{i}\nlink set p{i} master br0\n")
        self.state["paths"] = [p for p in self.state["paths"] if p[0] not in nodes]
        self._save()

    def link(self, node, state):
        """Takes the switch's end of a link down or up: the node sees its carrier go, its settings stay."""
        if state not in ("up", "down"):
            raise LabError(f"link '{state}': write up or down")
        namespace, device = self._receiver(self.index(node))
        sh("ip", "-n", namespace, "link", "set", device, state)

    def status(self):
        rows = []
        for i, name in enumerate(self.names()):
            for side, (namespace, device) in (("egress", self._sender(i)), ("ingress", self._receiver(i))):
                queues = json.loads(sh("tc", "-j", "-s", "-n", namespace, "qdisc", "show", "dev", device))
                queue = queues[0]
                rate = queue.get("options", {}).get("rate")
                rows.append((name, side, queue["kind"], rate * 8 // 1000000 if rate else "-", queue["bytes"],
                             queue["drops"], queue["backlog"]))
        return rows
