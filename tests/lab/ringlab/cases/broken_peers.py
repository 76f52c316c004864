"""A node breaks at a moment of our choosing: the command ends in time, names it, and leaves nothing behind.

--pause PHASE=SECONDS makes a command wait before a phase and say so on stderr; that is when the blow falls.
"""
import errno
import os
import shutil
import signal
import subprocess
import threading
import time

from . import expect, register
from ..cluster import Outcome, alive

PHASES = ("lease", "prepare", "connect", "barrier", "run", "collect")
VICTIM = "node5"
PAUSE = 3          # seconds before the phase
GRACE = 5          # seconds after a deadline
PHASE_DEADLINE = 5
RUN_DEADLINE = 8
WITHIN = 20        # seconds, of a check that loses a node: it goes on with the others to their verdict


class Watched:
    """A command whose output is read as it comes: a check's JSON is longer than a pipe holds."""

    def __init__(self, lab, *words, hosts=None):
        """hosts: all nodes of the lab if not given."""
        self.words, self.began = words, time.monotonic()
        self.process = lab.cluster.begin(*words, "--hosts", hosts or lab.cluster.hosts, "--pki", lab.cluster.pki,
                                         "--json")
        self.directory, self.lines, self.out, self.paused = lab.cluster.directory, [], [], threading.Event()
        self.readers = [threading.Thread(target=read, daemon=True) for read in (self._read_out, self._read_err)]
        for reader in self.readers:
            reader.start()

    def _read_out(self):
        self.out.append(self.process.stdout.read())

    def _read_err(self):
        for line in self.process.stderr:
            self.lines.append(line)
            if "pause" in line:
                self.paused.set()

    def _read_all(self):
        for reader in self.readers:
            reader.join(2)

    def wait_for_pause(self, seconds=30):
        until = time.monotonic() + seconds
        while not self.paused.wait(0.1):
            ended = self.process.poll() is not None
            if ended or time.monotonic() > until:
                self.process.kill()
                self._read_all()
                raise AssertionError(f"{'ended before the pause' if ended else f'no pause within {seconds} s'}: "
                                     f"{' '.join(self.words)}\n{''.join(self.lines)}")

    def finish(self, timeout):
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"no end after {timeout} s: {' '.join(self.words)}\n{''.join(self.lines)}")
        seconds = time.monotonic() - self.began
        self._read_all()
        outcome = Outcome(["ringtrue", *self.words], self.process.returncode, "".join(self.out), "".join(self.lines),
                          seconds)
        outcome.keep(self.directory)
        return outcome


def words_of(command, phase):
    words = ["run", "ring", "--size", "8M", "--iterations", "2"] if command == "run" else ["check"]
    return words + ["--pause", f"{phase}={PAUSE}", "--phase-deadline", f"{PHASE_DEADLINE}s",
                    "--deadline", f"{RUN_DEADLINE}s"]


# Each blow: strike(lab) when the command pauses, mend(lab) afterwards. They act on the victim.

class DaemonKilled:
    name = "daemon-killed"

    def strike(self, lab):
        os.kill(lab.cluster.pid(VICTIM), signal.SIGKILL)
        lab.cluster.daemons[VICTIM].wait()

    def mend(self, lab):
        lab.cluster.stop(VICTIM)
        lab.cluster.start(VICTIM)


class DaemonUpgraded:
    """As a package's upgrade does it: SIGTERM, and a new one in its place."""
    name = "daemon-upgraded"

    def strike(self, lab):
        os.kill(lab.cluster.pid(VICTIM), signal.SIGTERM)
        lab.cluster.daemons[VICTIM].wait(10)
        lab.cluster.stop(VICTIM)
        lab.cluster.start(VICTIM)

    def mend(self, lab):
        pass


class DaemonStopped:
    name = "daemon-stopped"

    def strike(self, lab):
        os.kill(lab.cluster.pid(VICTIM), signal.SIGSTOP)

    def mend(self, lab):
        os.kill(lab.cluster.pid(VICTIM), signal.SIGCONT)


class Worker:
    pids = ()

    def strike(self, lab):
        self.pids = lab.cluster.workers(VICTIM)
        expect(self.pids, f"{VICTIM} has no worker to strike")
        for pid in self.pids:
            os.kill(pid, self.number)

    def mend(self, lab):
        for pid in self.pids:
            if alive(pid):
                os.kill(pid, signal.SIGCONT)


class WorkerKilled(Worker):
    name, number = "worker-killed", signal.SIGKILL


class WorkerStopped(Worker):
    name, number = "worker-stopped", signal.SIGSTOP


class LinkDown:
    name = "link-down"

    def strike(self, lab):
        lab.network.link(VICTIM, "down")

    def mend(self, lab):
        lab.network.link(VICTIM, "up")


def struck(command, phase, blow):
    def run(lab):
        watched = Watched(lab, *words_of(command, phase))
        watched.wait_for_pause()
        blow.strike(lab)
        hit = time.monotonic()
        limit = WITHIN
        if command == "run":
            limit = PAUSE + (RUN_DEADLINE if phase == "run" else PHASE_DEADLINE) + GRACE
        try:
            outcome = watched.finish(limit + 5)
            took = time.monotonic() - hit
        finally:
            blow.mend(lab)
        expect(took <= limit, f"ended {took:.1f} s after the blow, not within {limit}", outcome)
        expect(outcome.code in ((3,) if command == "run" else (2, 3)), f"exit {outcome.code}", outcome)
        expect(VICTIM in outcome.text, f"{VICTIM} is not named", outcome)
        near = PHASES[max(0, PHASES.index(phase) - 1):PHASES.index(phase) + 1]
        expect(any(name in outcome.text for name in near), f"no phase of {' or '.join(near)} is named", outcome)
        settled(lab)

    return run


def settled(lab):
    """Nothing is left, and the next run works."""
    lab.cluster.wait_ready()
    lab.expect_clean(8)
    outcome = lab.cluster.fleet("run", "ring", "--size", "1M", "--iterations", "2")
    expect(outcome.code == 0, "the next run failed", outcome)
    expect(outcome.data["results"][0]["wrong"] == 0, "the next run is wrong", outcome)
    lab.expect_clean()


def interrupted(command, phase, number):
    def run(lab):
        watched = Watched(lab, *words_of(command, phase))
        watched.wait_for_pause()
        watched.process.send_signal(number)
        hit = time.monotonic()
        outcome = watched.finish(20)
        took = time.monotonic() - hit
        expect(took < GRACE, f"ended {took:.1f} s after the signal", outcome)
        if number == signal.SIGINT:
            expect(outcome.code in (3, 130, -signal.SIGINT), f"exit {outcome.code}", outcome)
        settled(lab)

    return run


def interrupted_mid_run(number):
    """While bytes move, not between phases."""
    def run(lab):
        words = ["run", "ring", "--size", "64M", "--iterations", "20"]
        watched = Watched(lab, *words)
        until = time.monotonic() + 20
        while len(lab.cluster.workers()) < lab.network.size and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(2)
        expect(watched.process.poll() is None, "the run ended before it could be interrupted")
        watched.process.send_signal(number)
        hit = time.monotonic()
        outcome = watched.finish(20)
        expect(time.monotonic() - hit < GRACE, "did not end in time", outcome)
        settled(lab)

    return run


def disk_full(command):
    """The victim's state lies on a disk that fills up before the command: it either does not matter or is said."""
    def run(lab):
        cluster = lab.cluster
        state = cluster.state(VICTIM)
        cluster.stop(VICTIM)
        shutil.rmtree(state, ignore_errors=True)
        os.makedirs(state)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "tiny", state], check=True)
        try:
            cluster.start(VICTIM)
            cluster.wait_ready([VICTIM])
            try:
                with open(os.path.join(state, "filler"), "wb", buffering=0) as file:
                    while True:
                        file.write(b"\0" * 1024)
            except OSError as error:
                expect(error.errno == errno.ENOSPC, f"the disk did not fill: {error}")
            words = ["run", "ring", "--size", "8M", "--iterations", "2"] if command == "run" else ["check"]
            outcome = cluster.fleet(*words, timeout=60)
            expect(outcome.code in (0, 3), f"exit {outcome.code}", outcome)
            if outcome.code == 3:
                expect(VICTIM in outcome.text and "space" in outcome.text, "the full disk is not named", outcome)
        finally:
            cluster.stop(VICTIM)
            subprocess.run(["umount", "-l", state], check=True)
        cluster.start(VICTIM)
        settled(lab)

    return run


def other_clock(days):
    """A node whose clock is a day off works: certificates are valid from two days back."""
    def run(lab):
        from ..runner import Skip
        faketime = shutil.which("faketime")
        if faketime is None:
            raise Skip("faketime is not installed")
        cluster = lab.cluster
        cluster.stop(VICTIM)
        # Only the calendar is off; timers on the monotonic clock go on as they do on a real machine.
        cluster.start(VICTIM, wrapper=["env", "FAKETIME_DONT_FAKE_MONOTONIC=1", faketime, "-f", f"{days:+d}d"])
        cluster.wait_ready([VICTIM])
        for words in (["run", "ring", "--size", "8M", "--iterations", "2"], ["check"]):
            outcome = cluster.fleet(*words)
            expect(outcome.code == 0, "a clock that is a day off did harm", outcome)
        cluster.stop(VICTIM)
        cluster.start(VICTIM)
        settled(lab)

    return run


def old_version(lab):
    """A daemon of a release that is no neighbour's: refused at the lease, with both versions in the line."""
    cluster = lab.cluster
    said = subprocess.run([cluster.program("ringtrued"), "--version"], capture_output=True, text=True).stdout.split()
    version = said[-1]
    with open(cluster.program("ringtrued"), "rb") as file:
        image = file.read()
    old = "9.9.9"
    expect(len(old) == len(version), f"cannot write {old} over {version}")
    expect(version.encode() + b"\0" in image, "the version is not in the program")
    folder = os.path.join(cluster.directory, "old")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "ringtrued")
    with open(path, "wb") as file:
        file.write(image.replace(version.encode() + b"\0", old.encode() + b"\0"))
    os.chmod(path, 0o755)
    worker = os.path.join(folder, "ringtrue-worker")
    if not os.path.exists(worker):
        os.symlink(cluster.program("ringtrue-worker"), worker)
    cluster.stop(VICTIM)
    cluster.start(VICTIM, program=path)
    time.sleep(1)
    for words in (["run", "ring", "--size", "8M"], ["check"]):
        outcome = cluster.fleet(*words)
        expect(outcome.code == 3, f"exit {outcome.code}", outcome)
        expect(VICTIM in outcome.text and old in outcome.text, f"{VICTIM} and {old} are not named", outcome)
    listed = cluster.fleet("nodes")
    state = next(n for n in listed.data["nodes"] if n["node"] == VICTIM)
    expect(state["version"] == old, "nodes does not show the version", listed)
    cluster.stop(VICTIM)
    cluster.start(VICTIM)
    settled(lab)


def two_operators(lab):
    first = Watched(lab, *words_of("run", "run"))
    first.wait_for_pause()
    second = lab.cluster.fleet("check", node="node3")
    outcome = first.finish(60)
    expect(second.code == 3, f"the second operator: exit {second.code}", second)
    expect("leased to operator" in second.text, "the second operator is not told who holds the lease", second)
    expect(outcome.code == 0, "the first operator was disturbed", outcome)
    settled(lab)


def unknown_node_down(lab):
    """A node that was never there is named, and the others keep no lease: a run needs it, a check does not."""
    lab.cluster.stop("node2", signal.SIGKILL)
    outcome = lab.cluster.fleet("run", "ring", "--size", "8M", "--iterations", "2")
    expect(outcome.code == 3 and "node2" in outcome.text, "node2 is not named", outcome)
    lab.expect_clean(8)
    outcome = lab.cluster.fleet("check")
    expect(outcome.code == 2 and "node2" in outcome.text, "node2 is not named", outcome)
    lab.cluster.start("node2")
    settled(lab)


QUICK = {("run", "prepare", "daemon-killed"), ("run", "run", "worker-killed"), ("check", "run", "daemon-killed"),
         ("run", "collect", "daemon-stopped"), ("run", "connect", "link-down"), ("check", "barrier", "worker-stopped")}

for _command in ("run", "check"):
    for _phase in PHASES:
        for _blow in (DaemonKilled, DaemonStopped, WorkerKilled, WorkerStopped, LinkDown):
            if _phase == "lease" and issubclass(_blow, Worker):
                continue  # workers begin with the lease
            register(f"broken-peers/{_command}-{_phase}-{_blow.name}", struck(_command, _phase, _blow()),
                     quick=(_command, _phase, _blow.name) in QUICK)
        register(f"broken-peers/{_command}-{_phase}-ctrl-c", interrupted(_command, _phase, signal.SIGINT),
                 quick=(_command, _phase) == ("check", "run"))
        register(f"broken-peers/{_command}-{_phase}-command-killed", interrupted(_command, _phase, signal.SIGKILL),
                 quick=(_command, _phase) == ("run", "barrier"))
    register(f"broken-peers/{_command}-disk-full", disk_full(_command), quick=_command == "run")
register("broken-peers/mid-run-ctrl-c", interrupted_mid_run(signal.SIGINT), quick=True)
register("broken-peers/mid-run-command-killed", interrupted_mid_run(signal.SIGKILL), quick=True)
register("broken-peers/clock-a-day-ahead", other_clock(1))
register("broken-peers/clock-a-day-behind", other_clock(-1))
register("broken-peers/old-version", old_version, quick=True)
register("broken-peers/two-operators", two_operators, quick=True)
register("broken-peers/one-daemon-missing", unknown_node_down, quick=True)
