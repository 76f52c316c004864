"""Disturbance: a core that is busy for a while."""
import contextlib
import os
import signal
import subprocess
import sys

SPIN = """
import time
until = time.monotonic() + float({seconds!r})
while time.monotonic() < until:
    sum(range(1000))
"""


@contextlib.contextmanager
def busy_core(seconds):
    """Keeps one core busy inside the with block, and never longer than `seconds`. 0: does nothing."""
    if not seconds:
        yield
        return
    spinner = subprocess.Popen([sys.executable, "-c", SPIN.format(seconds=seconds)], stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        if spinner.poll() is None:
            os.kill(spinner.pid, signal.SIGKILL)
        spinner.wait()
