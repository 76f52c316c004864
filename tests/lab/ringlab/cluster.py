"""Daemons on the nodes of a network, and the operator's commands against them."""
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import time

from .network import LabError

PORT = 7464


@dataclasses.dataclass
class Outcome:
    """What a command did. `data` is its JSON document, or None where it printed none."""
    command: list
    code: int
    out: str
    err: str
    seconds: float

    @property
    def data(self):
        try:
            return json.loads(self.out)
        except ValueError:
            return None

    @property
    def text(self):
        return self.out + self.err

    def __str__(self):
        """What one wants to read of it first; the whole is kept by Cluster.finish()."""
        shown = self.out[-3000:]
        if isinstance(self.data, dict):
            brief = {key: value for key, value in self.data.items()
                     if key in ("verdict", "findings", "error", "not_checked", "cost") and value}
            shown = json.dumps(brief, indent=1)[:6000]
        return (f"$ {' '.join(self.command)}\nexit {self.code} after {self.seconds:.1f} s\n"
                f"--- stdout\n{shown}\n--- stderr\n{self.err[-3000:]}")

    def keep(self, directory):
        """Beside the daemons' logs, for when the case fails."""
        with open(os.path.join(directory, "commands.log"), "a") as file:
            file.write(f"$ {' '.join(self.command)}\nexit {self.code} after {self.seconds:.1f} s\n{self.out}\n{self.err}\n")


def alive(pid):
    """Is there such a process, and is it more than a zombie?"""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def processes(name):
    """Processes that run the program of this name, by pid. The kernel keeps 15 characters of it."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/comm") as file:
                if file.read().strip() == name[:15] and alive(entry):
                    found.append(int(entry))
        except OSError:
            pass
    return sorted(found)


def parent(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


class Cluster:
    def __init__(self, network, programs, directory, port=PORT):
        """programs: the folder with ringtrue and ringtrued. directory: for states, certificates and logs."""
        self.network, self.programs, self.directory = network, os.path.abspath(programs), directory
        self.port = port
        self.pki = os.path.join(directory, "pki")
        self.daemons = {}  # Popen by node name
        os.makedirs(directory, exist_ok=True)

    def program(self, name):
        path = os.path.join(self.programs, name)
        if not os.access(path, os.X_OK):
            raise LabError(f"no program {path}; build it first")
        return path

    @property
    def hosts(self):
        names = f"{self.network.prefix}[0-{self.network.size - 1}]" if self.network.size > 1 else "node0"
        return names if self.port == PORT else f"{names}:{self.port}"

    # Certificates.

    def certify(self, *arguments):
        run = subprocess.run([self.program("ringtrue"), "pki", *arguments], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=60)
        if run.returncode != 0:
            raise LabError(f"ringtrue pki {' '.join(arguments)}: {run.stderr.strip() or run.stdout.strip()}")

    def make_certificates(self):
        if not os.path.exists(os.path.join(self.pki, "ca.crt")):
            self.certify("init", "--dir", self.pki)
            self.certify("issue", "--dir", self.pki, ",".join(self.network.names()))

    # Daemons.

    def state(self, node):
        return os.path.join(self.directory, f"state-{node}")

    def log(self, node):
        return os.path.join(self.directory, f"{node}.log")

    def log_text(self, node):
        try:
            with open(self.log(node), errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def start(self, node, program=None, wrapper=(), pki=None, extra=()):
        """Starts one daemon. wrapper: words before the program, such as faketime's."""
        if node in self.daemons and alive(self.daemons[node].pid):
            raise LabError(f"{node} has a daemon already")
        os.makedirs(self.state(node), exist_ok=True)
        # As a unit would start them: a command that runs its arguments.
        around = os.environ.get("RINGTRUE_DAEMON_WRAPPER", "").split()
        command = [*around, *wrapper, program or self.program("ringtrued"),
                   "--listen", f"{self.network.address(node)}:{self.port}", "--state", self.state(node),
                   "--pki", pki or self.pki, "--node", node,
                   *(["--peers", self.network.peers] if self.network.peers else []), *extra]
        with open(self.log(node), "ab") as log:
            self.daemons[node] = subprocess.Popen(self.network.command(node, command), stdin=subprocess.DEVNULL,
                                                  stdout=log, stderr=log, start_new_session=True)

    def start_all(self):
        self.make_certificates()
        for node in self.network.names():
            self.start(node)
        self.wait_ready()

    def wait_ready(self, nodes=None, seconds=15):
        """Until every daemon answers. Raises what is known about the one that does not."""
        hosts = ",".join(nodes) if nodes else self.hosts
        nodes = nodes or self.network.names()
        until = time.monotonic() + seconds
        while True:
            for node in nodes:
                if self.daemons[node].poll() is not None:
                    raise LabError(f"{node}: the daemon ended at once: {self.log_text(node).strip()[-300:]}")
            answer = self.ringtrue("nodes", "--hosts", hosts, "--pki", self.pki, timeout=30)
            if answer.code == 0:
                return
            if time.monotonic() > until:
                raise LabError(f"the daemons do not answer: {answer.text.strip()[-500:]}")
            time.sleep(0.2)

    def stop(self, node, number=signal.SIGTERM, patience=5):
        daemon = self.daemons.pop(node, None)
        if daemon is None:
            return
        for signal_number in (number, signal.SIGKILL):
            if daemon.poll() is None:
                daemon.send_signal(signal.SIGCONT)
                daemon.send_signal(signal_number)
            try:
                daemon.wait(timeout=patience)
                return
            except subprocess.TimeoutExpired:
                continue

    def stop_all(self):
        for node in list(self.daemons):
            daemon = self.daemons[node]
            if daemon.poll() is None:
                daemon.send_signal(signal.SIGCONT)
                daemon.terminate()
        for node in list(self.daemons):
            self.stop(node)

    def pid(self, node):
        return self.daemons[node].pid

    def workers(self, node=None):
        """Worker processes, of one node or of all."""
        found = processes("ringtrue-worker")
        return found if node is None else [pid for pid in found if parent(pid) == self.pid(node)]

    def revive(self, node):
        """The node as it was: link up, its daemon running and answering."""
        self.network.restore(node)
        self.stop(node, signal.SIGKILL)
        for pid in self.workers():
            if parent(pid) == 1:
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.state(node), ignore_errors=True)
        self.start(node)
        self.wait_ready([node])

    # Commands.

    def command(self, *words, node=None):
        return self.network.command(self.network.names()[0] if node is None else node,
                                    [self.program("ringtrue"), *words])

    def begin(self, *words, node=None):
        """Starts a command on a node (the first one) and returns its Popen."""
        return subprocess.Popen(self.command(*words, node=node), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def forget_commands(self):
        """commands.log holds those of one case."""
        path = os.path.join(self.directory, "commands.log")
        if os.path.exists(path):
            os.unlink(path)

    def finish(self, process, words, began, timeout):
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"no end after {timeout} s: ringtrue {' '.join(words)}\n{out[-2000:]}\n{err[-2000:]}")
        outcome = Outcome(["ringtrue", *words], process.returncode, out, err, time.monotonic() - began)
        outcome.keep(self.directory)
        return outcome

    def ringtrue(self, *words, node=None, timeout=120):
        began = time.monotonic()
        return self.finish(self.begin(*words, node=node), words, began, timeout)

    def fleet(self, *words, node=None, timeout=120):
        """A command over all nodes, as JSON."""
        return self.ringtrue(*words, "--hosts", self.hosts, "--pki", self.pki, "--json", node=node, timeout=timeout)
