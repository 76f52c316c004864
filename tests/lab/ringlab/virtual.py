"""Virtual machines with our programs in them, for what this machine does not have: a second NUMA node, PCIe switches,
links below their maximum, RDMA devices."""
import dataclasses
import functools
import glob
import os
import re
import struct

import vm

from .network import LabError

MISSING = "RINGTRUE_VM_MISSING"  # why there is no kernel, as prepare() found out
LIBRARIES = "/usr/lib/x86_64-linux-gnu"


@dataclasses.dataclass
class Shape:
    arguments: str         # QEMU's, for devices
    modules: tuple
    setup: str = ""        # shell, at the start
    programs: tuple = ()   # beside ours and iproute2's
    memory: int = 1024     # MiB
    append: str = ""       # to the kernel's command line
    ours: tuple = ("ringtrue", "ringtrue-probe")
    files: dict = dataclasses.field(default_factory=dict)  # executable text by path in the machine


def switch(name, bus, chassis, ports):
    """A PCIe switch: an upstream port and so many downstream ones, which QEMU calls NAMEpN."""
    return f"-device x3130-upstream,id={name},bus={bus} " + "".join(
        f"-device xio3130-downstream,id={name}p{port},bus={name},chassis={chassis},slot={port} "
        for port in range(ports))


def nic(number, bus, model="virtio-net-pci,speed=1000,duplex=full"):
    """1 Gbit/s. Its MAC address ends with its number. All are on one segment, so that their links are up."""
    return f"-netdev hubport,id=segment{number},hubid=0 " \
        f"-device {model},id=nic{number},bus={bus},netdev=segment{number},mac=52:54:00:00:00:{number:02x} "


def root_port(name, bus, chassis, link):
    return f"-device pcie-root-port,id={name},bus={bus},chassis={chassis},slot=0,{link} "


# Every link runs at 2.5 GT/s x1, which is all that QEMU's devices can do; root ports claim more. Two old Rage displays
# play GPUs: sysfs is made to call them MI210. They have no PCIe link of their own.
#
#   NUMA 0   host0 - root0 (16 GT/s x16) - switch0 +- nic0
#                                                  +- nic1
#                                                  +- switch1 +- nic2
#                                                             +- gpu0
#                  - root1 (8 GT/s x4) - nic3
#            host1 - root2 - nic4
#   NUMA 1   host2 - root3 - nic5
#                  - root4 - gpu1
NUMA = Shape(
    "-device intel-iommu -smp 2,sockets=2 "
    "-object memory-backend-ram,id=memory0,size=512M -object memory-backend-ram,id=memory1,size=512M "
    "-numa node,nodeid=0,cpus=0,memdev=memory0 -numa node,nodeid=1,cpus=1,memdev=memory1 "
    "-device pxb-pcie,id=host0,bus=pcie.0,bus_nr=32,numa_node=0 "
    "-device pxb-pcie,id=host1,bus=pcie.0,bus_nr=96,numa_node=0 "
    "-device pxb-pcie,id=host2,bus=pcie.0,bus_nr=160,numa_node=1 " +
    root_port("root0", "host0", 1, "x-speed=16,x-width=16") + switch("switch0", "root0", 2, 3) +
    switch("switch1", "switch0p2", 3, 2) + root_port("root1", "host0", 4, "x-speed=8,x-width=4") +
    root_port("root2", "host1", 5, "x-speed=2_5,x-width=1") + root_port("root3", "host2", 6, "x-speed=2_5,x-width=1") +
    root_port("root4", "host2", 7, "x-speed=2_5,x-width=1") +
    nic(0, "switch0p0", "e1000e") + nic(1, "switch0p1") + nic(2, "switch1p0") + nic(3, "root1") +
    nic(4, "root2", "e1000e") + nic(5, "root3") +
    "-device ati-vga,id=gpu0,bus=switch1p1,romfile= -device ati-vga,id=gpu1,bus=root4,romfile=",
    ("virtio_net", "e1000e", "aer_inject"),
    """echo 0x740f >/tmp/mi210
    for path in $(grep -l 0x5046 /sys/bus/pci/devices/*/device); do mount --bind /tmp/mi210 $path || exit 1; done
    for path in /sys/class/net/eth*; do ip link set ${path##*/} up; done
    for turn in $(seq 100); do grep -q 0 /sys/class/net/eth*/carrier || exit 0; sleep 0.1; done; exit 1""",
    ("ethtool",), append="intel_iommu=on iommu=pt")

# Soft-RoCE on a veth, on a dummy and on an NIC with hardware, as far as a virtual machine has any; behind an IOMMU that
# translates.
ROCE = Shape(
    "-device intel-iommu " + nic(0, "pcie.0"),
    ("virtio_net", "crc32_generic", "ib_uverbs", "rdma_rxe", "veth", "dummy"),
    """ip link add veth0 type veth peer name veth1
    ip link add dummy0 type dummy
    for name in veth0 veth1 dummy0 eth0; do ip link set $name up; done
    ip addr add 10.1.0.1/24 dev veth0; ip addr add 10.2.0.1/24 dev dummy0; ip addr add 10.3.0.1/24 dev eth0
    for name in veth0 dummy0 eth0; do rdma link add rxe_$name type rxe netdev $name || exit 1; done""",
    ("rdma", "ibv_rc_pingpong"), append="intel_iommu=on iommu=nopt")

SHAPES = {"numa": NUMA, "roce": ROCE}


def cache(root):
    return os.environ.get("RINGTRUE_VM_CACHE", os.path.join(root, "build/vm"))


def prepare(root):
    """Fetches the kernel if need be; what stands in the way is remembered for VirtualLab."""
    os.environ["RINGTRUE_VM_CACHE"] = cache(root)
    if os.environ.get(MISSING):
        return
    try:
        vm.Kernel.at(cache(root))
    except (vm.Unavailable, OSError) as reason:
        os.environ[MISSING] = str(reason)


class VirtualLab:
    """What a case of a virtual machine gets."""

    def __init__(self, programs, directory, name):
        """programs: the folder with our programs. directory: for logs and files."""
        if os.environ.get(MISSING):
            raise vm.Unavailable(os.environ[MISSING])
        self.key, self.shape, self.programs = (name,), SHAPES[name], programs
        self.log = os.path.join(directory, "commands.log")
        kernel, image = vm.Kernel.at(os.environ["RINGTRUE_VM_CACHE"], fetch=False), vm.Image()
        for program in self.shape.ours:
            path = os.path.join(programs, program)
            if not os.access(path, os.X_OK):
                raise LabError(f"no program {path}; build it first")
            image.program(path, f"/usr/local/bin/{program}")
        for program in ("ip", *self.shape.programs):
            image.program(os.path.realpath(vm.find(program)), f"/usr/sbin/{program}")
        for provider in glob.glob(f"{LIBRARIES}/libibverbs/librxe-*.so"):
            image.program(provider)
            image.file("/etc/libibverbs.d/rxe.driver", "driver rxe\n")
        for path, text in self.shape.files.items():
            image.file(path, text, 0o755)
        image.file("/etc/group", "root:x:0:\nnogroup:x:65534:\n")
        image.file("/etc/passwd", "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
        self.machine = vm.Machine(kernel, image, directory, self.shape.modules, self.shape.arguments.split(),
                                  self.shape.memory, append=self.shape.append)
        VirtualLab.begin(self)  # not a machine's own, which asks it something
        self.boot()

    def boot(self):
        self.machine.start()
        try:
            self.set_up()
        except BaseException:
            self.close()
            raise

    def set_up(self):
        """Brings the machine into its shape's state, also after a case has removed or disconnected something."""
        self.shell(self.shape.setup)
        self.__dict__.pop("document", None)

    def close(self):
        self.machine.stop()

    def begin(self):
        open(self.log, "w").close()  # holds the commands of one case

    def mend(self):
        """After a case: raises where the machine no longer answers."""
        self.machine.run("true")

    def keep_logs(self):
        """Before the directory is kept: what is still in the machine."""

    def sanitizer_reports(self):
        return []  # they end a command with a code that its case does not expect

    def run(self, script, seconds=60):
        """Shell in the machine, with its outcome whatever that is."""
        outcome = self.machine.run(script, seconds)
        with open(self.log, "a") as log:
            print(outcome.whole(), file=log)
        return outcome

    def shell(self, script, seconds=60):
        """What shell prints, which has to succeed."""
        outcome = self.run(script, seconds)
        if outcome.code != 0:
            raise AssertionError(f"shell in the virtual machine failed\n{outcome}")
        return outcome.out

    def netdev(self, number):
        return next(name for name, found in self.netdevs().items() if found == number)

    def address(self, number):
        """PCI address of an NIC of the shape. (A virtio device lies one folder below it.)"""
        path = self.shell(f"readlink -f /sys/class/net/{self.netdev(number)}/device")
        return re.findall(r"\w{4}:\w\w:\w\w\.\w", path)[-1]

    def inject(self, address, correctable=0, uncorrectable=0):
        """Shell that makes the kernel see such PCIe errors of a device (struct aer_error_inj, bits as in PCIe)."""
        domain, bus, device, function = (int(part, 16) for part in re.split("[:.]", address))
        record = struct.pack("<BBBx7I", bus, device, function, uncorrectable, correctable, 0, 0, 0, 0, domain)
        return "printf '" + "".join(f"\\{byte:03o}" for byte in record) + "' >/dev/aer_inject"

    @functools.cached_property
    def document(self):
        """What `topo --json` says of the machine as its shape draws it; for cases that change nothing."""
        outcome = self.run("ringtrue topo --json")
        if outcome.code != 0 or not outcome.data:
            raise AssertionError(f"topo failed\n{outcome}")
        return outcome.data

    def netdevs(self):
        """Number of each NIC of the shape, by its netdev's name."""
        text = self.shell("cd /sys/class/net; for name in eth*; do echo $name $(cat $name/address); done")
        return {name: int(last, 16) for name, last in re.findall(r"(\S+) 52:54:00:00:00:(\w\w)", text)}
