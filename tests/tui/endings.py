"""Every way to end leaves the terminal as it was, and no process; and what terminals there are."""
import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile

from programs import AT, AT_ONCE, PROGRAM, SANITIZED, demo, on_pty, printed, tmux
from terminals import ENV, gone, seconds_of, state_of, until


def signals_end_it():
    for name, code in (("SIGTERM", 143), ("SIGINT", 130), ("SIGHUP", 129), ("SIGQUIT", 131)):
        with tmux("--demo") as t:
            t.says("^! node5 ")
            os.kill(t.pid(), getattr(signal, name))
            until(f"{name} does not end it", lambda: gone(t.pid()), AT_ONCE)
            t.ended(code)
    for key, code in (("C-c", 130), ("q", 0)):
        with tmux("--demo") as t:
            t.says("^! node5 ")
            t.keys(key)
            t.ended(code, 2 * AT_ONCE)


def an_exception_ends_it():
    if SANITIZED:  # which end a program that has no memory in their own way
        return
    with tempfile.TemporaryDirectory() as tmp:
        names = [f"node{i}" for i in range(300)]
        document = {"schema": "ringtrue.check/1", "verdict": "healthy", "findings": [], "nodes": [{"node": n} for n in names],
                    "expected": {"rate_Bps": 1e9}, "rate_Bps": [[None if i == j else 1e9 for j in names] for i in names]}
        file = pathlib.Path(tmp, "check.json")
        file.write_text(json.dumps(document))
        with tmux("--from", file) as t:
            t.says("300 nodes")
            t.keys("3")
            t.says("% of expected")
            size = int(pathlib.Path(f"/proc/{t.pid()}/statm").read_text().split()[0]) * resource.getpagesize()
            resource.prlimit(t.pid(), resource.RLIMIT_AS, (size, size))
            resource.prlimit(t.pid(), resource.RLIMIT_CORE, (0, 0))
            t.keys("e")  # a table of 90,000 rows
            t.ended(134, 5)
            t.says("std::bad_alloc")


def stopped_and_continued():
    with demo() as t:
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
    with tmux("--demo") as t:
        t.says("^! node5 ")
        pid = t.pid()
        t.tmux("kill-server")
        until("a process is left", lambda: gone(pid), AT_ONCE)
    # As a connection that is cut: the other end is closed, and nobody sends a signal that it might miss.
    with on_pty("--demo") as p:
        p.until(rb"node5")
        used = seconds_of(p.pid)
        os.close(p.fd)
        p.fd = os.open("/dev/null", os.O_RDONLY)
        until("a process is left", lambda: gone(p.pid), AT_ONCE)
        assert seconds_of(p.pid) - used < AT_ONCE / 4, "a core is kept busy"


def kinds_of_terminals():
    for term in ("xterm-256color", "tmux-256color", "screen", "linux", "vt100", "vt220", "xterm"):
        with on_pty("--demo", "--at", AT, term=term) as p:
            p.until(rb"node13")
            p.type(b"q")
            assert p.end() == 0, term
    for term, told in (("dumb", b"cannot move a cursor"), ("no-such-terminal", b"no terminal is known"), (None, b"TERM is not set")):
        with on_pty("--demo", term=term) as p:
            assert p.end() == 3, term
            assert told in p.raw and p.raw.count(b"\n") == 1 and b"TERM=xterm-256color" in p.raw, p.raw
    done = subprocess.run([PROGRAM, "--demo"], env=ENV | {"TERM": "xterm"}, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 3 and "no terminal" in done.stderr and not done.stdout, done


def no_size_is_80x24():
    with on_pty("--demo", "--at", AT, size=None) as p:
        p.until(rb"node18")
        p.until(rb"rows 1-20 of 32")
        p.type(b"q")
        assert p.end() == 0


CASES = [signals_end_it, an_exception_ends_it, stopped_and_continued, a_terminal_that_goes_away_leaves_no_process,
         kinds_of_terminals, no_size_is_80x24]
