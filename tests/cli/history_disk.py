#!/usr/bin/env python3
"""history_disk.py RINGTRUE: a check whose history is on a disk that is full or may not be written.

Verdict and exit code stay what they are, one line says what was not recorded, what was recorded before is there
afterwards. In a namespace of its own, where that may be made; else skipped (77).
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

RINGTRUE = sys.argv[1]


def ringtrue(*words):
    done = subprocess.run([RINGTRUE, *words], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr.splitlines()


def check(file):
    return ringtrue("-q", "check", "--local", "3", "--record", "--history", str(file), "--link-rate", "500Mbit")


def recorded(file):
    code, out, said = ringtrue("history", "verify", "--history", str(file))
    found = re.search(r": sound, (\d+) checks?$", out.strip())
    if code or not found:
        sys.exit(f"the history is not sound: {out} {said}")
    return int(found[1])


def inside(folder):
    disk, file = Path(folder), Path(folder) / "history.db"

    def mounted(*options):
        subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "tiny", folder], check=True)

    def expect(what, got, line):
        code, _, said = got
        if code != 0 or len(said) != 1 or not re.search(line, said[0]):
            sys.exit(f"{what}: exit code {code}, and it said {said}, where {line} was due")

    mounted("size=300k")
    code, _, said = check(file)
    before = recorded(file)
    if code or said or before != 1:
        sys.exit(f"a check was not recorded on a good disk: {said}")
    filler = disk / "filler"
    try:
        with open(filler, "wb", buffering=0) as out:
            while True:
                out.write(bytes(4096))
    except OSError:
        pass
    expect("a full disk", check(file), r"^ringtrue: not recorded: the history .*history\.db cannot grow: the disk.* is full; make room")
    code, out, said = ringtrue("history", "--history", str(file))
    if code or said or "healthy" not in out:
        sys.exit(f"a history on a full disk cannot be read: exit code {code}, {out} {said}")
    filler.unlink()
    if recorded(file) != before:
        sys.exit("checks are missing after the disk was full")

    mounted("remount", "ro")
    expect("a disk for reading alone", check(file), r"^ringtrue: not recorded: the history .* may not be written")
    expect("a folder for reading alone", check(disk / "other.db"), r"^ringtrue: not recorded: .*other\.db")
    if recorded(file) != before or ringtrue("history", "--history", str(file))[0] != 0:
        sys.exit("a history that may not be written cannot be read")

    mounted("remount", "rw")
    code, _, said = check(file)
    if code or said or recorded(file) != before + 1:
        sys.exit(f"the disk is good again, and the check was not recorded: {said}")


if len(sys.argv) > 2:
    inside(sys.argv[2])
    sys.exit()
with tempfile.TemporaryDirectory() as folder:
    able = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*able, "mount", "-t", "tmpfs", "tiny", folder], capture_output=True).returncode:
        print("no namespace with a mount of its own can be made here")
        sys.exit(77)
    os.environ["XDG_STATE_HOME"] = folder
    sys.exit(subprocess.run([*able, sys.executable, __file__, RINGTRUE, folder], timeout=300).returncode)
