#!/usr/bin/env python3
"""manual.py BIN: whether the manual pages say what --help and the configuration know, and whether mandoc likes them."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MAKE = Path(__file__).resolve().parents[2] / "packaging/man/make"
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+[a-z]")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def commands(program):
    return re.findall(r"^  ([a-z]+) {2,}", output(program, "--help").split("Subcommands:")[1], re.M)


def lacking(page, words):
    text = re.sub(".\b", "", output("mandoc", "-Tascii", "-Owidth=300", page))
    known = set(re.findall(r"[\w-]+", text))
    return [f"{page.name}: {word} is missing" for word in sorted(words) if word not in known]


def main():
    folder = Path(sys.argv[1])
    ringtrue, ringtrued = folder / "ringtrue", folder / "ringtrued"
    faults = []
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([MAKE, ringtrue, out], check=True)
        pages = sorted(Path(out).iterdir())
        for name in commands(ringtrue):
            help_ = output(ringtrue, name, "--help")
            flags = set(FLAG.findall(help_)) - {"--help"}
            if name == "pki":
                for below in ("init", "issue", "revoke", "deploy"):
                    flags |= set(FLAG.findall(output(ringtrue, "pki", below, "--help"))) - {"--help"}
            faults += lacking(Path(out) / f"ringtrue-{name}.1", flags)
        faults += lacking(Path(out) / "ringtrue.1", set(FLAG.findall(output(ringtrue, "--help"))))
        faults += lacking(Path(out) / "ringtrued.8", set(FLAG.findall(output(ringtrued, "--help"))))
        settings = json.loads(output(ringtrue, "config", "--json"))["settings"]
        faults += lacking(Path(out) / "ringtrue.toml.5", {s["key"].split(".")[-1] for s in settings})
        lint = subprocess.run(["mandoc", "-Tlint", "-W", "warning", *pages], capture_output=True, text=True)
        faults += (lint.stdout + lint.stderr).splitlines()
        if len(pages) < 18:
            faults.append(f"only {len(pages)} pages")
    print("\n".join(faults) or f"{len(pages)} pages are complete")
    return bool(faults)


sys.exit(main())
