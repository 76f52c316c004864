"""Debian's generic kernel (the cloud one has no soft-RoCE): fetched by apt, unpacked into a cache, not installed."""
import glob
import lzma
import os
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile

# Folders of modules that are worth their space: 30 MB of 400.
FOLDERS = ("crypto/", "lib/", "arch/x86/crypto/", "drivers/virtio/", "drivers/char/", "drivers/infiniband/core/",
           "drivers/infiniband/sw/", "drivers/net/ethernet/intel/", "drivers/nvme/", "drivers/block/virtio",
           "drivers/net/veth", "drivers/net/dummy", "drivers/net/bonding/", "drivers/net/virtio_net",
           "drivers/net/net_failover", "net/core/", "net/802/", "net/llc/", "net/bridge/bridge", "net/8021q/",
           "net/sched/", "net/tls/", "net/ipv4/udp_tunnel", "net/ipv6/ip6_udp_tunnel", "fs/configfs/",
           "drivers/ptp/", "drivers/pps/", "drivers/i2c/algos/", "drivers/dca/", "drivers/pci/pcie/", "block/")
SIGNATURE = b"~Module signature appended~\n"


class Unavailable(Exception):
    """This machine lacks what a virtual machine needs; the reason is for the operator."""


def find(program):
    """A program, also in sbin, which is not on an ordinary user's PATH."""
    path = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin:/bin")
    if path is None:
        raise Unavailable(f"no {program} here (packaging/install-deps vm installs it)")
    return path


def command(*words, **options):
    run = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, timeout=300, **options)
    if run.returncode != 0:
        raise Unavailable(f"{' '.join(words)}: {(run.stdout.strip().splitlines() or ['failed'])[-1]}")
    return run.stdout


def uncompressed(image):
    """The ELF file within a bzImage, which QEMU starts directly: 4 s less under emulation. None: unknown packing."""
    if image[0x202:0x206] != b"HdrS":
        return None
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = ((image[0x1F1] or 4) + 1) * 512 + offset
    try:
        elf = lzma.LZMADecompressor().decompress(image[start:start + length])
    except lzma.LZMAError:
        return None
    return elf if elf[:4] == b"\x7fELF" else None


def unsigned(module):
    """Without its signature, which this kernel does not insist on and takes long to check under emulation."""
    if not module.endswith(SIGNATURE):
        return module
    end = len(module) - len(SIGNATURE)
    return module[:end - 12 - int.from_bytes(module[end - 4:end], "big")]


class Kernel:
    def __init__(self, directory):
        """directory: as Kernel.at() filled it."""
        self.image = os.path.join(directory, "image")
        self.root, = glob.glob(os.path.join(directory, "lib/modules/*"))
        self.needs = {}  # by name: (path, the paths that it depends on)
        with open(os.path.join(self.root, "modules.dep")) as file:
            for line in file:
                path, _, others = line.partition(":")
                self.needs[self.name(path)] = (path, others.split())

    @staticmethod
    def name(path):
        return os.path.basename(path).partition(".")[0].replace("-", "_")

    def modules(self, names):
        """The files of these modules and of all that they need, in the order of loading."""
        order = []
        for name in names:
            if name.replace("-", "_") not in self.needs:
                raise Unavailable(f"the kernel's package has no module {name}")
            path, others = self.needs[name.replace("-", "_")]
            order += [other for other in (*reversed(others), path) if other not in order]
        return [os.path.join(self.root, path) for path in order]

    @staticmethod
    def at(cache, fetch=True):
        """The kernel in this cache, fetched if there is none yet."""
        for ready in sorted(glob.glob(os.path.join(cache, "linux-image-*", "modules.ready")), key=os.path.getmtime):
            return Kernel(os.path.dirname(ready))
        if not fetch:
            raise Unavailable(f"no kernel in {cache}")
        for program in ("apt-get", "apt-cache", "dpkg-deb", "busybox"):
            find(program)
        known = re.search(r"Depends: (linux-image-\S+)", command("apt-cache", "depends", "linux-image-amd64"))
        if known is None:
            raise Unavailable("apt knows no linux-image-amd64 (apt-get update?)")
        os.makedirs(cache, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as work:
            # As root apt would read as a user of its own, who may not write here.
            sandbox = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
            command("apt-get", *sandbox, "-qq", "download", known[1], cwd=work)
            package, = glob.glob(os.path.join(work, "*.deb"))
            directory = os.path.join(work, known[1])
            unpack(package, directory)
            release = known[1].removeprefix("linux-image-")
            command("busybox", "depmod", "-b", directory, release)
            open(os.path.join(directory, "modules.ready"), "w").close()
            final = os.path.join(cache, known[1])
            shutil.rmtree(final, ignore_errors=True)
            os.rename(directory, final)
        return Kernel(final)


def unpack(package, directory):
    """The kernel and the modules of FOLDERS out of a package. Paths are built here, not taken from it."""
    reader = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE)
    with tarfile.open(fileobj=reader.stdout, mode="r|") as archive:
        for member in archive:
            kernel = re.fullmatch(r"\./boot/vmlinuz-[\w.+-]+", member.name)
            module = re.fullmatch(r"\./(lib/modules/[\w.+-]+/kernel/((?:[\w.+-]+/)*[\w.+-]+\.ko))", member.name)
            if not member.isfile() or ".." in member.name or not (kernel or module):
                continue
            if module and not module[2].startswith(FOLDERS):
                continue
            data = archive.extractfile(member).read()
            path = os.path.join(directory, "image" if kernel else module[1])
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(uncompressed(data) or data if kernel else unsigned(data))
    if reader.wait() != 0 or not os.path.exists(os.path.join(directory, "image")):
        raise Unavailable(f"no kernel in {os.path.basename(package)}")
