"""Nodes below leaf switches whose trunks to the spines are hashed, all of it namespaces:

    node0 --+                +-- spine0 --+                +-- node4
    ...     +-- leaf0 (br0) -+-- ...      +- leaf1 (br0) --+   ...
    node3 --+                +-- spine3 --+                +-- node7

Leaves route over all spines with equal costs. Which one a flow takes is the kernel's hash of its addresses (policy 0), or
of its ports, too (policy 1): between namespaces that is a random number of the sender's socket, which the packet still
carries. By addresses, protocol and ports as the packet has them, as routers of hardware do it: policy 3. Nodes' links and trunks are shaped in either direction, as in network.py.
"""
from .network import MTU, LabError, Network, sh


class LeafNetwork(Network):
    peers = "10.78.0.0/16"  # nodes below other leaves are in other networks
    def __init__(self, leaves=2, spines=4, policy=1, trunk_share=1.0):
        super().__init__()
        self.leaves, self.spines, self.policy = leaves, spines, policy
        self.trunk_share = trunk_share  # a trunk's rate over a node's

    def leaf_of(self, i):
        return i // ((self.size + self.leaves - 1) // self.leaves)

    def address(self, node):
        return f"10.78.{self.leaf_of(self.index(node))}.{self.index(node) + 10}"

    def _switches(self):
        return [f"leaf{k}" for k in range(self.leaves)] + [f"spine{k}" for k in range(self.spines)]

    def _receiver(self, i):
        return f"leaf{self.leaf_of(i)}", f"p{i}"

    def _make(self, nodes):
        for switch in self._switches():
            sh("ip", "netns", "add", switch)
            sh("ip", "-n", switch, "link", "set", "lo", "up")
            sh("ip", "netns", "exec", switch, "sysctl", "-qw", "net.ipv4.ip_forward=1",
               f"net.ipv4.fib_multipath_hash_policy={self.policy}", "net.ipv4.fib_multipath_hash_fields=0x37", "net.ipv4.conf.all.rp_filter=0",
               "net.ipv4.conf.default.rp_filter=0")
        for k in range(self.leaves):
            sh("ip", "-n", f"leaf{k}", "-batch", "-", text=f"""link add br0 mtu {MTU} type bridge forward_delay 0 mcast_snooping 0
link set br0 up
addr add 10.78.{k}.1/24 dev br0
""")
        for i, name in enumerate(self.names()):
            leaf = self.leaf_of(i)
            sh("ip", "netns", "add", name)
            sh("ip", "link", "add", "eth0", "netns", name, "mtu", str(MTU), "type", "veth", "peer", "name", f"p{i}",
               "netns", f"leaf{leaf}", "mtu", str(MTU))
            sh("ip", "-n", f"leaf{leaf}", "link", "set", f"p{i}", "master", "br0", "up")
            sh("ip", "-n", name, "-batch", "-", text=f"""link set lo up
addr add {self.address(i)}/24 dev eth0
link set eth0 up
route add default via 10.78.{leaf}.1
""")
        for k in range(self.leaves):
            hops = ""
            for s in range(self.spines):
                net = f"10.79.{16 * k + s}"
                sh("ip", "link", "add", f"up{s}", "netns", f"leaf{k}", "mtu", str(MTU), "type", "veth", "peer", "name",
                   f"down{k}", "netns", f"spine{s}", "mtu", str(MTU))
                sh("ip", "-n", f"leaf{k}", "-batch", "-", text=f"addr add {net}.1/30 dev up{s}\nlink set up{s} up\n")
                sh("ip", "-n", f"spine{s}", "-batch", "-", text=f"addr add {net}.2/30 dev down{k}\nlink set down{k} up\n"
                   f"route add 10.78.{k}.0/24 via {net}.1\n")
                hops += f" nexthop via {net}.2 dev up{s}"
            sh("ip", "-n", f"leaf{k}", "-batch", "-", text=f"route add 10.78.0.0/16{hops}\n")
        if not self._works(["ip", "netns", "exec", self.names()[0], "true"]):
            self.state["enter"] = "nsenter"  # a container may forbid the fresh /sys that ip mounts
        self._choose_congestion()
        self._write_hosts()
        self.restore()

    def trunk(self, leaf, spine, rate, side="both"):
        """side: up, down or both, of one trunk."""
        if side in ("up", "both"):
            self._tbf((f"leaf{leaf}", f"up{spine}"), rate)
        if side in ("down", "both"):
            self._tbf((f"spine{spine}", f"down{leaf}"), rate)

    def restore(self, node=None):
        super().restore(node)
        if node is None:
            for leaf in range(self.leaves):
                for spine in range(self.spines):
                    self.trunk(leaf, spine, self.rate * self.trunk_share)

    def path(self, source, destination, rate):
        raise LabError("paths are not slowed below leaves")

