"""What a virtual machine's memory disk holds: an initramfs (cpio, newc), built in memory."""
import os
import re
import stat
import subprocess

from .kernel import Unavailable, find

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = ("bin", "dev", "etc", "lab/modules", "proc", "root", "run", "sys", "tmp", "usr/bin", "usr/sbin", "var")


class Image:
    """Files at the paths that they have on this machine, programs with the libraries that they need."""

    def __init__(self):
        self.entries = {}  # (mode, data) by path without its leading slash
        for folder in FOLDERS:
            self.folder(folder)
        self.program(find("dash"), "/bin/sh")  # busybox's shell prefers its own `ip` to all others
        self.program(find("busybox"), "/bin/busybox")
        for applet in subprocess.run([find("busybox"), "--list"], capture_output=True, text=True).stdout.split():
            if applet not in ("sh", "ip", "busybox"):
                self.link(f"/bin/{applet}", "busybox")
        for name, path in (("init", "/init"), ("agent", "/lab/agent")):
            with open(os.path.join(HERE, name), "rb") as file:
                self.file(path, file.read(), 0o755)

    def folder(self, path):
        while path and path not in self.entries:
            self.entries[path] = (stat.S_IFDIR | 0o755, b"")
            path = os.path.dirname(path)

    def file(self, path, data, mode=0o644):
        path = path.lstrip("/")
        self.folder(os.path.dirname(path))
        self.entries[path] = (stat.S_IFREG | mode, data if isinstance(data, bytes) else data.encode())

    def link(self, path, target):
        self.entries[path.lstrip("/")] = (stat.S_IFLNK | 0o777, target.encode())

    def program(self, path, guest=None):
        """A program or shared library and all libraries that it names. `guest`: its path in the machine."""
        self.copy(path, guest)
        listing = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
        if "not found" in listing:
            raise Unavailable(f"{path} lacks libraries: {listing}")
        for library in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", listing, re.MULTILINE):
            if library.lstrip("/") not in self.entries:
                self.copy(library)

    def copy(self, path, guest=None):
        with open(path, "rb") as file:
            self.file(guest or path, file.read(), os.stat(path).st_mode & 0o777)

    def archive(self):
        out = bytearray()
        trailer = {"TRAILER!!!": (0, b"")}
        # Folders before what is in them: shorter paths first.
        for number, (path, (mode, data)) in enumerate((*sorted(self.entries.items()), *trailer.items()), start=1):
            name = path.encode() + b"\0"
            fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
            out += b"070701" + b"".join(b"%08X" % field for field in fields) + name
            out += bytes(-len(out) % 4) + data
            out += bytes(-len(out) % 4)
        return bytes(out)
