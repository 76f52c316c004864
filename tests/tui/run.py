#!/usr/bin/env python3
"""run.py RINGTRUE-TUI RINGTRUED [MATCH]: the dashboard on real terminals.

Screens in tmux are what --print says they are; every way to end leaves the terminal as it was. What is awaited is a
text on the screen or the end of a process, never a time; deadlines are for what hangs.
"""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

PROGRAM, DAEMON = map(os.path.abspath, sys.argv[1:3])
AT = "@1790000000"
SCREENS = ["fleet", "findings", "matrix", "topology", "history", "counters", "run"]
PATIENCE = 30
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"} | {k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}


def until(what, condition, patience=PATIENCE):
    """Waits for what `condition` returns; `what` is told where it never comes."""
    end = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"in vain: {what() if callable(what) else what}")
        time.sleep(0.02)


def printed(screen, size, *more):
    out = subprocess.run([PROGRAM, "--demo", "--at", AT, "--print", screen, "--size", size, *more], env=ENV,
                         capture_output=True, text=True, check=True)
    return out.stdout.rstrip("\n").split("\n")


class Tmux:
    """A server of its own with one window, in which a command runs between two `stty -a`."""

    def __init__(self, args, width=80, height=24, env=()):
        self.folder = tempfile.TemporaryDirectory(prefix="ringtrue-tui-")
        self.socket = f"ringtrue-{os.getpid()}-{id(self)}"
        tmp = self.folder.name
        words = " ".join(f"'{a}'" for a in (PROGRAM, *args))
        script = (f"trap : INT; stty -a >{tmp}/before; env {' '.join(env)} sh -c 'echo $$ >{tmp}/pid; exec \"$0\" \"$@\"' {words}; "
                  f"echo code=$?; stty -a >{tmp}/after; touch {tmp}/done; exec sleep 1000")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), script)

    def tmux(self, *args):
        return subprocess.run(["tmux", "-L", self.socket, *args], env=ENV | {"TERM": "screen-256color"}, capture_output=True,
                              text=True, check=True, timeout=PATIENCE).stdout

    def lines(self):
        lines = [line.rstrip() for line in self.tmux("capture-pane", "-p").split("\n")]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def shows(self, lines):
        wanted = [line.rstrip() for line in lines]
        while wanted and not wanted[-1]:
            wanted.pop()
        until(lambda: "\n".join(["the screen", *self.lines(), "wanted", *wanted]), lambda: self.lines() == wanted)

    def says(self, pattern):
        until(lambda: "\n".join([pattern, *self.lines()]), lambda: re.search(pattern, "\n".join(self.lines()), re.M))

    def pid(self):
        file = pathlib.Path(self.folder.name, "pid")
        return int(until("no process", lambda: file.exists() and file.read_text().strip()))

    def ended(self, code, patience=PATIENCE):
        until(lambda: "\n".join(["it goes on", *self.lines()]), pathlib.Path(self.folder.name, "done").exists, patience)
        before, after = (pathlib.Path(self.folder.name, name).read_text() for name in ("before", "after"))
        assert before == after, f"the terminal is another:\n{before}\n{after}"
        self.says(f"^code={code}$")
        state = self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}").split()
        assert state == ["0", "1", "0"], f"alternate screen, cursor, mouse: {state}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], env=ENV, capture_output=True)
        self.folder.cleanup()


class Pty:
    """The program on a pty: every byte that it writes is kept."""

    def __init__(self, args, term="xterm-256color", size=(24, 80), env=()):
        self.raw = b""
        pid, self.fd = pty.fork()
        if pid == 0:
            words = ENV | dict(env)
            words.pop("TERM", None)
            if term is not None:
                words["TERM"] = term
            if size:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
            os.execve(PROGRAM, [PROGRAM, *args], words)
        self.pid, self.code = pid, None

    def read(self, wait=0.05):
        if select.select([self.fd], [], [], wait)[0]:
            try:
                self.raw += os.read(self.fd, 65536)
            except OSError:
                return False
        return True

    def until(self, pattern):
        until(lambda: f"{pattern} in {self.raw[-2000:]!r}", lambda: self.read() is not None and re.search(pattern, self.raw))

    def type(self, text):
        os.write(self.fd, text)

    def end(self, patience=PATIENCE):
        """Its exit code, negative of a signal."""
        def gone():
            self.read(0.01)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            return pid
        until("the program goes on", gone, patience)
        while self.read(0) and select.select([self.fd], [], [], 0)[0]:
            pass
        return self.code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


def screens_are_what_print_says():
    with Tmux(["--demo", "--at", AT]) as t:
        for number, screen in enumerate(SCREENS, 1):
            t.keys(str(number))
            t.shows(printed(screen, "80x24"))
        t.keys("Tab")
        t.shows(printed("fleet", "80x24"))
        t.keys("q")
        t.ended(0)


def ascii_and_mono_and_sizes():
    with Tmux(["--demo", "--at", AT, "--ascii", "--mono"], 132, 43) as t:
        t.shows(printed("fleet", "132x43", "--ascii"))
        t.tmux("resize-window", "-x", "200", "-y", "50")
        t.shows(printed("fleet", "200x50", "--ascii"))


def filter_help_findings():
    with Tmux(["--demo", "--at", AT]) as t:
        t.says("^! node5 ")
        t.keys("/", "sned<95%")
        t.says("did you mean send")
        t.keys("C-u", "send<95%", "Enter")
        t.says("filter: send<95%")
        until("the filter hides nothing", lambda: not any("node19" in line for line in t.lines()))
        t.keys("Escape", "?")
        t.says("next_screen")
        t.keys("Escape", "2", "y")
        t.says("^ringtrue check --hosts ")
        t.keys("5", "[", "1")
        t.says("as of 2026")
        t.keys("]")
        t.says("ago$")


def a_check_is_confirmed_watched_and_cancelled():
    with Tmux(["--demo"]) as t:
        t.says("^! node5 ")
        t.keys("c")
        t.says("start check of 32 nodes: [0-9]+ runs")
        t.keys("n")
        t.says("nothing was started")
        t.keys("c", "y")
        t.says("check of 32 nodes: running")
        t.says("node5's sending side")
        t.keys("x")
        t.says("cancelled; nothing is held")
        t.keys("c", "y")
        t.says("^verdict: faulty")
        t.keys("q")
        t.ended(0)


def a_storm_of_sizes():
    with Tmux(["--demo", "--at", AT]) as t:
        t.says("^! node5 ")
        for i in range(120):
            t.tmux("resize-window", "-x", str(1 + i * 37 % 230), "-y", str(1 + i * 23 % 70))
        t.tmux("resize-window", "-x", "24", "-y", "3")
        t.says("is too small")
        t.tmux("resize-window", "-x", "80", "-y", "24")
        t.shows(printed("fleet", "80x24"))


def signals_end_it():
    for name, code in (("SIGTERM", 143), ("SIGINT", 130), ("SIGHUP", 129)):
        with Tmux(["--demo"]) as t:
            t.says("^! node5 ")
            os.kill(t.pid(), getattr(signal, name))
            t.ended(code)
    with Tmux(["--demo"]) as t:
        t.says("^! node5 ")
        t.keys("C-c")
        t.ended(130)


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def stopped_and_continued():
    with Tmux(["--demo", "--at", AT]) as t:
        t.shows(printed("fleet", "80x24"))
        pid = t.pid()
        os.kill(pid, signal.SIGTSTP)
        until("it does not stop", lambda: state_of(pid) == "T")
        assert t.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").split() == ["0", "1"]
        os.kill(pid, signal.SIGCONT)
        t.shows(printed("fleet", "80x24"))
        t.keys("q")
        t.ended(0)


def a_terminal_that_goes_away_leaves_no_process():
    with Tmux(["--demo"]) as t:
        t.says("^! node5 ")
        pid = t.pid()
        t.tmux("kill-server")
        until("a process is left", lambda: not pathlib.Path(f"/proc/{pid}").exists() or state_of(pid) == "Z")
    with Pty(["--demo"]) as p:
        p.until(rb"node5")
        os.close(p.fd)
        p.fd = os.open("/dev/null", os.O_RDONLY)
        until("a process is left", lambda: os.waitpid(p.pid, os.WNOHANG)[0])
        p.code = 0


def terminals():
    for term in ("xterm-256color", "screen", "linux", "vt100", "xterm"):
        with Pty(["--demo", "--at", AT], term) as p:
            p.until(rb"node13")
            p.type(b"q")
            assert p.end() == 0, term
    for term, told in (("dumb", b"cannot move a cursor"), ("no-such-terminal", b"no terminal is known"), (None, b"TERM is not set")):
        with Pty(["--demo"], term) as p:
            assert p.end() == 3, term
            assert told in p.raw and p.raw.count(b"\n") == 1 and b"TERM=xterm-256color" in p.raw, p.raw
    done = subprocess.run([PROGRAM, "--demo"], env=ENV | {"TERM": "xterm"}, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 3 and "no terminal" in done.stderr and not done.stdout, done


def no_size_is_80x24():
    with Pty(["--demo", "--at", AT], size=None) as p:
        p.until(rb"node18")
        p.until(rb"rows 1-20 of 32")
        p.type(b"q")
        assert p.end() == 0


def no_colour():
    for args, env in ((["--mono"], {}), ([], {"NO_COLOR": "1"})):
        with Pty(["--demo", "--at", AT, *args], env=env) as p:
            p.until(rb"node18")
            p.type(b"q")
            p.end()
            assert not re.search(rb"\x1b\[[0-9;]*(3[1-7]|38;5)", p.raw), p.raw
    with Pty(["--demo", "--at", AT]) as p:
        p.until(rb"node18")
        p.type(b"q")
        p.end()
        assert re.search(rb"\x1b\[[0-9;]*3[1-7]", p.raw)


def hostile_text_stays_text():
    evil = "n\x1b]0;owned\x07\x1b]52;c;cm0=\x07\x9b2J\x1b[31m\u202edrow\u0590\u6771e\u0301"
    document = {"schema": "ringtrue.check/1", "verdict": "faulty", "nodes": [{"node": evil, "cause": evil}, {"node": "b"}],
                "expected": {"rate_Bps": 1e9}, "rate_Bps": [[None, 5e8], [1e9, None]],
                "findings": [{"severity": "critical", "kind": evil, "scope": {"type": "sender", "node": evil, "device": evil},
                              "evidence": [evil], "next": evil, "impact": evil, "command": evil, "confidence": 1}]}
    with tempfile.TemporaryDirectory() as tmp:
        file = pathlib.Path(tmp, "check.json")
        file.write_text(json.dumps(document))
        with Pty(["--from", str(file)]) as p:
            p.until(rb"2 nodes")
            for key in b"1234567?2":
                p.type(bytes([key]))
            p.type(b"y")
            p.until(rb"\x1b\]52;c;")  # the copied command, by our own hand, in base64
            p.type(b"q")
            assert p.end() == 0
        raw = re.sub(rb"\x1b\]52;c;[A-Za-z0-9+/=]*\x07", b"", p.raw)
        assert b"\x1b]" not in raw and b"\xc2\x9b" not in raw and b"\xe2\x80\xae" not in raw and b"\x07" not in raw, raw
        # Of escape sequences, those of curses alone: "[31m" of the name came without its escape.
        assert b"\x1b[31m\xe2" not in raw


def idle_is_quiet():
    with Pty(["--demo"]) as p:
        p.until(rb"node18")
        end = time.monotonic() + 1
        while time.monotonic() < end:
            p.read()
        before = len(p.raw)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            p.read()
        assert len(p.raw) - before < 3 * 2048, len(p.raw) - before


class Daemon:
    def __init__(self, folder, name):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        state = pathlib.Path(folder, name)
        state.mkdir()
        with open(state / "log", "w") as log:
            self.process = subprocess.Popen([DAEMON, "--listen", self.address, "--insecure", "--state", state, "--node", name],
                                            env=ENV, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def answers():
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return True
            except OSError:
                return False
        until(f"{name} does not answer", answers)

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


def daemons_are_watched_and_checked():
    with tempfile.TemporaryDirectory() as folder:
        daemons = [Daemon(folder, f"node{i}") for i in range(3)]
        try:
            hosts = ",".join(d.address for d in daemons)
            with Tmux(["--insecure", "--setting", f"hosts={hosts}"], 120) as t:
                t.says(" 3 nodes")
                t.keys("c")
                t.says("start check of 3 nodes: .*held by nobody")
                t.keys("y")
                t.says("^verdict: ")
                t.keys("3")
                t.says("% of expected")
                t.keys("1")
                daemons[2].end()
                t.says("2 answer, 1 silent")
                t.says("^- .* silent [0-9]+ s: ")
                t.keys("q")
                t.ended(0)
            with Tmux(["--insecure", "--read-only", "--setting", f"hosts={hosts}"], 120) as t:
                t.says(" 3 nodes")
                t.keys("c")
                t.says("read-only: nothing is started")
        finally:
            for daemon in daemons:
                daemon.end()


def a_recording_is_played_again():
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/r"
        subprocess.run([PROGRAM, "--demo", "--at", AT, "--print", "fleet", "--record", file], env=ENV, check=True, capture_output=True)
        with Tmux(["--replay", file]) as t:
            t.says("^! node5 ")
            t.says("replay, 1 of 1, 1 times as fast")
            t.keys("+")
            t.says("2 times as fast")
            t.keys("Space")
            t.says("FROZEN")


def main():
    cases = [screens_are_what_print_says, ascii_and_mono_and_sizes, filter_help_findings,
             a_check_is_confirmed_watched_and_cancelled, a_storm_of_sizes, signals_end_it, stopped_and_continued,
             a_terminal_that_goes_away_leaves_no_process, terminals, no_size_is_80x24, no_colour, hostile_text_stays_text,
             idle_is_quiet, daemons_are_watched_and_checked, a_recording_is_played_again]
    match = sys.argv[3] if len(sys.argv) > 3 else ""
    failed = 0
    for case in cases:
        if match not in case.__name__:
            continue
        began = time.monotonic()
        try:
            case()
            print(f"ok      {time.monotonic() - began:5.1f} s  {case.__name__}", flush=True)
        except AssertionError as error:
            failed += 1
            print(f"FAILED  {time.monotonic() - began:5.1f} s  {case.__name__}: {error}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
