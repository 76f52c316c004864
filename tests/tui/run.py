#!/usr/bin/env python3
"""run.py RINGTRUE-TUI RINGTRUED FAKE-DAEMONS [MATCH]: the dashboard on real terminals.

Screens in tmux are what --print says they are; every way to end leaves the terminal as it was. MATCH "speed", on a machine
that does nothing else, holds the times of a fleet of 1,024 to their limits. Exit code 77 where there is no tmux.
"""
import json
import contextlib
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import endings
from programs import AT, DAEMON, FAKE_DAEMONS, PROGRAM, SANITIZED, SCREENS, demo, on_pty, printed, tmux
from speed import a_fleet_of_1024_is_fast
from terminals import ENV, PATIENCE, until


def screens_are_what_print_says():
    # With sanitizers, which take ten times as long, a sample.
    sizes = [(80, 24)] if SANITIZED else [(80, 24), (132, 43), (200, 50)]
    for words in [[]] if SANITIZED else [[], ["--ascii"], ["--mono"]]:
        with demo(*words) as t:
            for width, height in sizes:
                t.resize(width, height)
                for number, screen in enumerate(SCREENS, 1):
                    t.keys(str(number))
                    t.shows(printed(screen, f"{width}x{height}", *words))
                    if "--mono" in words:  # nothing but bold, dim, reverse and the terminal's own colours
                        colours = re.findall(r"\x1b\[([0-9;]*)m", t.tmux("capture-pane", "-p", "-e"))
                        assert set(";".join(colours).split(";")) <= {"", "0", "1", "2", "7", "39", "49"}, colours
            t.keys("Tab")
            t.shows(printed("fleet", f"{sizes[-1][0]}x{sizes[-1][1]}", *words))
            t.resize(80, 24)  # where tmux can put the main screen back as it was
            t.shows(printed("fleet", "80x24", *words))
            t.keys("q")
            t.ended(0)


def filter_help_findings():
    with demo() as t:
        t.shows(printed("fleet", "80x24"))  # all sessions are there
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
    with tmux("--demo") as t:
        t.says("^! node5 ")
        t.keys("c")
        t.says("y starts check of 32 nodes: [0-9]+ runs")
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
    with demo() as t:
        t.says("^! node5 ")
        began = time.monotonic()
        for i in range(100 if SANITIZED else 500):
            t.resize(1 + i * 37 % 250, 1 + i * 23 % 80)
            if i % 50 == 0:
                t.keys(str(1 + i // 50 % 7))
        assert SANITIZED or time.monotonic() - began < 20, "tmux was slow"
        t.resize(24, 3)
        t.says("is too small")
        t.resize(80, 24)
        for number, screen in enumerate(SCREENS, 1):
            t.keys(str(number))
            t.shows(printed(screen, "80x24"))
        t.keys("q")
        t.ended(0)


def no_colour():
    for args, env in ((["--mono"], {}), ([], {"NO_COLOR": "1"})):
        with on_pty("--demo", "--at", AT, *args, env=env) as p:
            p.until(rb"node18")
            p.type(b"q")
            p.end()
            assert not re.search(rb"\x1b\[[0-9;]*(3[1-7]|38;5)", p.raw), p.raw
    with on_pty("--demo", "--at", AT) as p:
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
        with on_pty("--from", str(file)) as p:
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
        rest = re.sub(rb"\x1b(\[[0-9;?]*[A-Za-z]|[()][0B]|[=>78M])", b"", raw)
        odd = re.search(r"[\x00-\x07\x0b-\x0c\x0e-\x1f\x7f-\x9f\u0590-\u08ff\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]",
                        rest.decode("utf-8"))
        assert odd is None, (odd, rest)


def a_fleet_of_1024(timed=False):
    a_fleet_of_1024_is_fast(PROGRAM, FAKE_DAEMONS, SANITIZED, timed)


def speed():
    a_fleet_of_1024(timed=True)


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


def twenty_of_them_crowd_nobody_out():
    """More than a daemon keeps connections of one machine: who comes anew is taken all the same."""
    if SANITIZED:
        return
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as all_of_them:
        daemon = Daemon(folder, "node0")
        try:
            words = ["--insecure", "--setting", f"hosts={daemon.address}"]
            watchers = [all_of_them.enter_context(on_pty(*words, size=(24, 100))) for _ in range(20)]
            began = time.monotonic()
            while time.monotonic() - began < 12:  # two questions and a little
                for p in watchers:
                    p.read(0.02)
            assert not any(b"silent" in p.raw for p in watchers)
            for p in watchers:
                p.type(b"q")
            for p in watchers:
                assert p.end() == 0
        finally:
            daemon.end()


def daemons_are_watched_and_checked():
    with tempfile.TemporaryDirectory() as folder:
        daemons = [Daemon(folder, f"node{i}") for i in range(3)]
        try:
            hosts = ",".join(d.address for d in daemons)
            told = subprocess.run([PROGRAM, "--insecure", "--setting", f"hosts={hosts}", "--print", "topology", "--size", "120x40"],
                                  env=ENV, capture_output=True, text=True, check=True).stdout
            assert "NUMA node 0" in told, told
            with tmux("--insecure", "--setting", f"history={folder}/history.db", "--setting", f"hosts={hosts}", width=120) as t:
                t.says(" 3 nodes")
                t.keys("c")
                t.says("y starts check of 3 nodes: .*held by nobody")
                t.keys("y")
                t.says("^verdict: ", 90)  # a busy machine's links may seem slow at times, which takes up to a minute
                t.says("^recorded in ")
                t.keys("Enter", "Right", "Down", "Right", "Right", "Down", "Down", "64K", "Enter")
                t.says("y starts run of ring up to 64.0 KiB: 6 calls, .* on 3 nodes, held by nobody")
                t.keys("y")
                t.says("run of ring up to 64.0 KiB: done")
                t.says("64.0 KiB .* [MG]B/s")
                t.keys("3")
                t.says("% of expected")
                t.keys("1")
                daemons[2].end()
                t.says("2 answer, 1 silent")
                t.says("^[-!?] .* silent [0-9]+ s: ")
                t.keys("q")
                t.ended(0)
            with tmux("--insecure", "--read-only", "--setting", f"hosts={hosts}", width=120) as t:
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
        with tmux("--replay", file) as t:
            t.says("^! node5 ")
            t.says("replay, 1 of 1, 1 times as fast")
            t.keys("+")
            t.says("2 times as fast")
            t.keys("Space")
            t.says("FROZEN")


def main():
    if shutil.which("tmux") is None:
        print("skipped: there is no tmux here (package tmux)")
        sys.exit(77)
    cases = [twenty_of_them_crowd_nobody_out, screens_are_what_print_says, filter_help_findings, a_check_is_confirmed_watched_and_cancelled, a_storm_of_sizes,
             *endings.CASES, no_colour, hostile_text_stays_text, daemons_are_watched_and_checked, a_recording_is_played_again,
             a_fleet_of_1024]
    match = sys.argv[4] if len(sys.argv) > 4 else ""
    if match == "speed":
        cases = [speed]
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
