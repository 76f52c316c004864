"""The programs under test, as run.py is given them, and ways to start the dashboard."""
import os
import pathlib
import subprocess
import sys

from terminals import ENV, Pty, Tmux

PROGRAM, DAEMON, FAKE_DAEMONS = map(os.path.abspath, sys.argv[1:4])
AT = "@1790000000"
SCREENS = ["fleet", "findings", "matrix", "topology", "history", "counters", "run"]
SANITIZED = b"__asan_init" in pathlib.Path(PROGRAM).read_bytes()
AT_ONCE = 10 if SANITIZED else 1  # seconds


def printed(screen, size, *more):
    out = subprocess.run([PROGRAM, "--demo", "--at", AT, "--print", screen, "--size", size, *more], env=ENV,
                         capture_output=True, text=True, check=True)
    return out.stdout.rstrip("\n").split("\n")


def tmux(*args, **more):
    return Tmux([PROGRAM, *args], **more)


def on_pty(*args, **more):
    return Pty([PROGRAM, *args], **more)


def demo(*args, **more):
    """The modelled fleet, at a time that stands still."""
    return tmux("--demo", "--at", AT, *args, **more)
