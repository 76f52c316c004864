"""A virtual machine that runs what it is sent."""
import ctypes
import dataclasses
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time

from .kernel import Unavailable, find

# Alone it takes 4, on a machine that is busy with other things more. Now and then QEMU's emulation hangs before the
# kernel has said a word; once more, it does not.
BOOT_SECONDS = (45, 90)
SYSTEM_BOOT_SECONDS = (180, 240)  # unpacks a tar of 200 MB and starts systemd
# What emulation does slowly or byte by byte is left out of the processor.
EMULATED = "max,erms=off,fsrm=off,smap=off,smep=off,la57=off,pku=off"
MODULES = ("virtio_pci", "virtio_console")
FIRST = ("verdict", "findings", "error", "not_checked", "cost")  # of a JSON document, when it is shown


class MachineError(Exception):
    """The machine did not do what it was told; the end of its console is in the message."""


class Hung(MachineError):
    """It did not boot in time."""


class Ended(MachineError):
    """QEMU or its kernel ended in the middle of a command."""


@dataclasses.dataclass
class Outcome:
    script: str
    code: int
    stdout: bytes
    stderr: bytes
    seconds: float

    @property
    def out(self):
        return self.stdout.decode(errors="replace")

    @property
    def err(self):
        return self.stderr.decode(errors="replace")

    @property
    def data(self):
        """Its JSON document, or None where it printed none."""
        try:
            return json.loads(self.stdout)
        except ValueError:
            return None

    def whole(self):
        return self.text(self.out, self.err)

    def __str__(self):
        """What one wants to read of it first."""
        shown = self.out[-3000:]
        if isinstance(self.data, dict):
            brief = {key: value for key, value in self.data.items() if key in FIRST and value}
            shown = json.dumps(brief, indent=1)[:6000] if brief else shown
        return self.text(shown, self.err[-3000:])

    def text(self, out, err):
        return (f"$ {self.script.strip()}\nexit {self.code} after {self.seconds:.1f} s\n"
                f"--- stdout\n{out}\n--- stderr\n{err}")


def accelerator():
    """KVM where the hardware has it: kvm_pvm alone runs no stock kernel."""
    real = any(os.path.isdir(f"/sys/module/{name}") for name in ("kvm_intel", "kvm_amd"))
    if real and os.access("/dev/kvm", os.R_OK | os.W_OK):
        return ["-accel", "kvm", "-cpu", "host"]
    return ["-accel", "tcg,thread=multi", "-cpu", EMULATED]


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Lines:
    """Reads a socket with a deadline: lines, or so many bytes."""

    def __init__(self, end):
        self.end, self.kept = end, b""

    def more(self, until):
        left = until - time.monotonic()
        if left <= 0 or not select.select([self.end], [], [], left)[0]:
            raise TimeoutError
        got = self.end.recv(1 << 20)
        if not got:
            raise EOFError
        self.kept += got

    def take(self, count, until):
        while len(self.kept) < count:
            self.more(until)
        taken, self.kept = self.kept[:count], self.kept[count:]
        return taken

    def line(self, until):
        while b"\n" not in self.kept:
            self.more(until)
        line, _, self.kept = self.kept.partition(b"\n")
        return line.decode(errors="replace")


class Machine:
    """Boots on entry, is gone on exit. `directory` takes the memory disk and logs."""

    def __init__(self, kernel, image, directory, modules=(), arguments=(), memory=1024, cpus=2, append="",
                 system=None):
        """modules: to load, after those for the host's channel. arguments: QEMU's, for devices and NUMA nodes.
        memory: MiB. append: to the kernel's command line. system: an uncompressed tar of a whole system, with systemd
        and a service that starts /lab/agent, to be run from memory instead of the image alone."""
        self.boot_seconds = BOOT_SECONDS
        if system is not None:
            modules = (*modules, "virtio_blk")
            arguments = (*arguments, "-drive", f"file={system},format=raw,if=none,readonly=on,id=system",
                         "-device", "virtio-blk-pci,drive=system,bus=pcie.0")
            self.boot_seconds = SYSTEM_BOOT_SECONDS
        files = kernel.modules((*MODULES, *modules))
        for path in files:
            image.copy(path, f"/lab/modules/{os.path.basename(path)}")
        image.file("/lab/modules/order", "".join(f"{os.path.basename(path)}\n" for path in files))
        os.makedirs(directory, exist_ok=True)
        self.logs = [os.path.join(directory, name) for name in ("qemu.log", "console.log")]
        self.disk = os.path.join(directory, "initramfs")
        self.image = image
        self.command = [
            find("qemu-system-x86_64"), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-machine", "q35,smm=off,vmport=off", *accelerator(), "-smp", str(cpus), "-m", str(memory),
            "-kernel", kernel.image, "-initrd", self.disk, "-append",
            "console=ttyS0 quiet panic=-1 reboot=t nokaslr mitigations=off audit=0 tsc=reliable "
            f"cryptomgr.notests=1 rcupdate.rcu_expedited=1 {append}",
            "-serial", f"file:{self.logs[1]}", *arguments, "-device", "virtio-serial-pci,id=channels,bus=pcie.0"]
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        *first, last = self.boot_seconds
        for seconds in first:
            try:
                return self.boot(seconds)
            except Hung as error:
                print(f"# {error}\n# it is started once more", file=sys.stderr, flush=True)
        self.boot(last)

    def boot(self, seconds):
        with open(self.disk, "wb") as file:
            file.write(self.image.archive())
        pairs = {name: socket.socketpair() for name in ("agent", "monitor")}
        command = list(self.command)
        for name, (_, end) in pairs.items():
            command += ["-chardev", f"socket,id={name},fd={end.fileno()}"]
        command += ["-mon", "chardev=monitor,mode=control", "-device", "virtserialport,chardev=agent,bus=channels.0"]
        with open(self.logs[0], "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=die_with_parent,
                                            pass_fds=[end.fileno() for _, end in pairs.values()])
        for _, end in pairs.values():
            end.close()
        self.agent, self.monitor = Lines(pairs["agent"][0]), Lines(pairs["monitor"][0])
        try:
            until = time.monotonic() + seconds
            if self.agent.line(until) != "ready":
                raise MachineError("the machine speaks in tongues")
            self.monitor.line(until)  # QEMU's greeting
            self.qmp("qmp_capabilities")
            os.unlink(self.disk)  # is in the machine's memory by now
        except EOFError:
            raise self.failure("ended before it had booted") from None
        except TimeoutError:
            raise Hung(str(self.failure(f"did not boot within {seconds} s"))) from None
        except BaseException:
            self.stop()
            raise

    def stop(self):
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        self.agent.end.close()
        self.monitor.end.close()
        self.process = None

    def failure(self, what, kind=MachineError):
        """Ends the machine and tells what is known."""
        try:
            said = f"(QEMU ended with {self.process.wait(1)})\n"  # below 0: a signal
        except subprocess.TimeoutExpired:
            said = ""
        self.stop()
        for path in self.logs:
            if os.path.exists(path):
                with open(path, errors="replace") as file:
                    said += file.read()
        return kind(f"the virtual machine {what}; it said last:\n{said[-3000:]}")

    def begin(self, script, seconds=60):
        """Sends a script, of which finish() waits for the end. Killed in the machine after so many seconds."""
        if self.process is None:
            raise MachineError("the virtual machine is off")
        body = script.encode()
        self.begun = (script, seconds, time.monotonic())
        self.agent.end.sendall(b"%d %d\n" % (len(body), seconds) + body)

    def finish(self):
        script, seconds, began = self.begun
        until = began + seconds + 30
        try:
            code, out, err = (int(word) for word in self.agent.line(until).split())
            stdout, stderr = self.agent.take(out, until), self.agent.take(err, until)
        except EOFError:
            raise self.failure(f"ended during: {script.strip()[:200]}", Ended) from None
        except (TimeoutError, ValueError):
            raise self.failure(f"did not finish: {script.strip()[:200]}") from None
        return Outcome(script, code, stdout, stderr, time.monotonic() - began)

    def run(self, script, seconds=60):
        self.begin(script, seconds)
        return self.finish()

    def qmp(self, name, **arguments):
        """A command of QEMU's monitor: its answer, or MachineError."""
        self.monitor.end.sendall(json.dumps({"execute": name, "arguments": arguments}).encode() + b"\n")
        until = time.monotonic() + 30
        try:
            while True:
                answer = json.loads(self.monitor.line(until))
                if "return" in answer:
                    return answer["return"]
                if "error" in answer:
                    raise MachineError(f"{name}: {answer['error'].get('desc')}")
        except (EOFError, TimeoutError):
            raise self.failure(f"does not answer its monitor: {name}") from None

    def hmp(self, line):
        """A line of QEMU's monitor for people: what it prints."""
        return self.qmp("human-monitor-command", **{"command-line": line})
