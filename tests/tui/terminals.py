"""Real terminals for programs under test: tmux servers of their own, and ptys whose every byte is kept.

What is awaited is a text on the screen or the end of a process, never a time; deadlines are for what hangs.
"""
import fcntl
import os
import pathlib
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import tempfile
import termios
import time

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


def state_of(pid):
    """A letter as in ps; empty where there is no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def gone(pid):
    return state_of(pid) in ("", "Z", "X")


def seconds_of(pid):
    """Time on processors, of all its threads."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Tmux:
    """A server of its own with one window, in which a command runs between two `stty -a`."""

    def __init__(self, command, width=80, height=24, env=()):
        self.folder = tempfile.TemporaryDirectory(prefix="ringtrue-tui-")
        tmp = self.folder.name
        words = shlex.join(map(str, command))
        script = (f"trap : INT; stty -a >{tmp}/before; env {' '.join(env)} sh -c 'echo $$ >{tmp}/pid; exec \"$0\" \"$@\"' {words}; "
                  f"echo code=$?; stty -a >{tmp}/after; touch {tmp}/done; exec sleep 1000")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), script)

    def tmux(self, *args):
        done = subprocess.run(["tmux", "-S", f"{self.folder.name}/socket", *args], env=ENV | {"TERM": "screen-256color"},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, f"tmux {' '.join(args)}: {done.stderr}"
        return done.stdout

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

    def says(self, pattern, patience=PATIENCE):
        """The match of what is awaited."""
        return until(lambda: "\n".join([pattern, *self.lines()]), lambda: re.search(pattern, "\n".join(self.lines()), re.M),
                     patience)

    def pid(self):
        file = pathlib.Path(self.folder.name, "pid")
        return int(until("no process", lambda: file.exists() and file.read_text().strip()))

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def ended(self, code, patience=PATIENCE):
        """Within so long, and the terminal is as it was."""
        until(lambda: "\n".join(["it goes on", *self.lines()]), pathlib.Path(self.folder.name, "done").exists, patience)
        # The size is tmux's own.
        before, after = (re.sub("rows [0-9]+; columns [0-9]+;", "", pathlib.Path(self.folder.name, name).read_text())
                         for name in ("before", "after"))
        assert before == after, f"the terminal is another:\n{before}\n{after}"
        self.says(f"^code={code}$")
        state = self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}").split()
        assert state == ["0", "1", "0"], f"alternate screen, cursor, mouse: {state}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-S", f"{self.folder.name}/socket", "kill-server"], env=ENV, capture_output=True)
        self.folder.cleanup()


class Pty:
    """The program on a pty: every byte that it writes is kept."""

    def __init__(self, command, term="xterm-256color", size=(24, 80), env=()):
        self.raw = b""
        pid, self.fd = pty.fork()
        if pid == 0:
            words = ENV | dict(env)
            words.pop("TERM", None)
            if term is not None:
                words["TERM"] = term
            if size:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
            os.execvpe(command[0], [str(word) for word in command], words)
        self.pid, self.code = pid, None

    def read(self, wait=0.05):
        if select.select([self.fd], [], [], wait)[0]:
            try:
                self.raw += os.read(self.fd, 65536)
            except OSError:
                return False
        return True

    def idle(self, seconds):
        """Takes what is shown meanwhile."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            self.read(0.2)

    def until(self, pattern):
        until(lambda: f"{pattern} in {self.raw[-2000:]!r}", lambda: self.read() is not None and re.search(pattern, self.raw))

    def type(self, text):
        os.write(self.fd, text)

    def end(self, patience=PATIENCE):
        """Its exit code, negative of a signal."""
        def ended():
            self.read(0.01)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            return pid
        until("the program goes on", ended, patience)
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
