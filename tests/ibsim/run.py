#!/usr/bin/env python3
"""run.py BIN [--scale LEAVES]: ringtrue's programs in BIN on InfiniBand fabrics that ibsim simulates and OpenSM has routed.

Every table that `ringtrue-probe` reads is held against OpenSM's own dump (all rows) and against dump_fts (all rows that it
has: it leaves out the highest LID where that is a multiple of 64). --scale: time and memory on one large fabric
instead, so many leaves with 32 hosts each and 32 spines. Exit 77 where a program is missing.
"""
import contextlib
import glob
import json
import os
import pathlib
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zlib

UNKNOWN, NONE = 254, 255


class Failed(Exception):
    pass


def expect(what, condition):
    if not condition:
        raise Failed(what)


def two_levels(leaves, below, spines):
    """ibsim's netlist: leaves with so many hosts each and a cable to each spine."""
    ports = below + spines
    out = [f'Switch {max(leaves, 2)} "spine{s:02}"\n' + "".join(f'[{l + 1}] "leaf{l:02}"[{below + s + 1}]\n' for l in range(leaves))
           for s in range(spines)]
    for l in range(leaves):
        out.append(f'Switch {ports} "leaf{l:02}"\n' + "".join(f'[{h + 1}] "node{l * below + h}"[1]\n' for h in range(below)) +
                   "".join(f'[{below + s + 1}] "spine{s:02}"[{l + 1}]\n' for s in range(spines)))
    out += [f'Hca 1 "node{h}"\n[1] "leaf{h // below:02}"[{h % below + 1}]\n' for h in range(leaves * below)]
    return "\n".join(out)


class Fabric:
    """A simulated fabric while it is there."""

    def __init__(self, bin_folder, folder, netlist, engine="ftree", lmc=0, host="node0"):
        self.bin, self.folder = pathlib.Path(bin_folder), pathlib.Path(folder)
        (self.folder / "net").write_text(netlist)
        # Its socket is abstract: one of this fabric's own.
        self.env = dict(os.environ, IBSIM_SOCKNAME=f"ringtrue{os.getpid()}", SIM_HOST=host, LC_ALL="C.UTF-8",
                        OSM_TMP_DIR=f"{folder}/", OSM_CACHE_DIR=f"{folder}/")
        self.log = open(self.folder / "ibsim.log", "w")
        self.simulator = subprocess.Popen(["ibsim", "-s", "net"], cwd=folder, env=self.env, stdin=subprocess.PIPE,
                                          stdout=self.log, stderr=self.log, text=True)
        try:
            self.wait_for("Network simulator ready")
            self.inside("opensm", "-e", "-o", "-f", f"{folder}/osm.log", "-s", "0", "-R", engine, "-l", str(lmc), "-D", "0x43")
        except BaseException:
            self.close()
            raise

    def close(self):
        self.simulator.kill()
        self.simulator.wait()
        self.log.close()

    def wait_for(self, what):
        until = time.monotonic() + 60
        while what not in (self.folder / "ibsim.log").read_text():
            expect(f"ibsim does not say '{what}'", self.simulator.poll() is None and time.monotonic() < until)
            time.sleep(0.05)

    def tell(self, command):
        self.simulator.stdin.write(command + "\n")
        self.simulator.stdin.flush()
        time.sleep(0.3)

    def simulated(self):
        return dict(self.env, LD_PRELOAD=library())

    def inside(self, program, *args, code=0):
        done = subprocess.run([program, *args], cwd=self.folder, env=self.simulated(), capture_output=True, text=True, timeout=280)
        expect(f"{program} {' '.join(args)}: exit {done.returncode}: {done.stderr[-500:]}", done.returncode == code)
        return done.stdout if code == 0 else done.stderr

    def ringtrue(self, *args):
        return self.inside(str(self.bin / "ringtrue"), *args)

    def routes(self, *args):
        return json.loads(self.ringtrue("topo", "--routes", "probe", "--json", *args))

    def probe(self):
        return self.inside(str(self.bin / "ringtrue-probe"), "ask", "routes")


@contextlib.contextmanager
def fabric(bin_folder, *args, **more):
    with tempfile.TemporaryDirectory(prefix="ringtrue-ibsim-") as folder:
        it = Fabric(bin_folder, folder, *args, **more)
        try:
            yield it
        finally:
            it.close()


def library():
    found = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")
    return found[0] if found else None


def read_by_us(text):
    """Tables by GUID, LIDs' ports beside them."""
    tables, owners = {}, {}
    for line in text[text.index("\n# Forwarding tables\n"):].splitlines():
        if found := re.match(r"Unicast lids .* guid 0x([0-9a-f]{16}) ", line):
            table = tables.setdefault(found[1], {})
        elif found := re.match(r"packed 0x([0-9a-f]{4}) ([0-9a-f]+)$", line):
            for i, port in enumerate(zlib.decompress(bytes.fromhex(found[2]))):
                if port != UNKNOWN:
                    table[int(found[1], 16) + i] = port
        elif found := re.match(r"lid 0x([0-9a-f]{4}) of 0x([0-9a-f]{16})\[(\d+)\]$", line):
            owners[int(found[1], 16)] = (found[2], int(found[3]))
    return tables, owners


def read_by_others(text):
    """Of OpenSM's dump and of dump_fts."""
    tables = {}
    for line in text.splitlines():
        if found := re.match(r"Unicast lids .* guid 0x([0-9a-f]{16}) ", line):
            table = tables.setdefault(found[1], {})
        elif found := re.match(r"0x([0-9a-f]{4}) (\d{3}) ", line):
            table[int(found[1], 16)] = int(found[2])
    return tables


def compare(it):
    """All that we read, row by row; how many rows those were."""
    ours, owners = read_by_us(it.probe())
    opensm = read_by_others((it.folder / "opensm-lfts.dump").read_text())
    dumped = read_by_others(it.inside("dump_fts"))
    expect("other switches than OpenSM's", ours.keys() == opensm.keys() == dumped.keys())
    rows = 0
    for guid, table in ours.items():
        expect(f"LIDs of {guid}", table.keys() == owners.keys())
        for lid, port in table.items():
            expect(f"{guid} sends {lid} to {port}, OpenSM says {opensm[guid].get(lid)}", opensm[guid].get(lid, NONE) == port)
            if lid in dumped[guid]:
                expect(f"{guid} sends {lid} to {port}, dump_fts says {dumped[guid][lid]}", dumped[guid][lid] == port)
            rows += 1
    return rows, owners, dumped


def small(bin_folder):
    """Two leaves, two spines, eight hosts: the same live as from files, here and by a daemon."""
    with fabric(bin_folder, two_levels(2, 4, 2)) as it:
        expect("rows", compare(it)[0] == 4 * 8)
        live = it.routes("--between", "node0,node5")
        (it.folder / "tables").write_text(it.inside("dump_fts"))
        (it.folder / "cables").write_text(it.inside("ibnetdiscover"))
        filed = json.loads(it.ringtrue("topo", "--routes", "tables", "cables", "--json", "--between", "node0,node5"))
        for part in ("counts", "paths"):
            expect(f"{part}: {live[part]} and {filed[part]}", live[part] == filed[part])
        expect("notes", len(live["notes"]) == 1 and live["notes"][0].startswith("forwarding tables were read by this machine"))
        by_daemon(it, live)


def free_ports(count):
    with contextlib.ExitStack() as held:
        return [held.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(count)]


@contextlib.contextmanager
def daemon_on(it, port, name):
    state = it.folder / f"state{port}"
    state.mkdir()
    with open(it.folder / f"daemon{port}.log", "w") as log:
        daemon = subprocess.Popen([it.bin / "ringtrued", "--listen", f"127.0.0.1:{port}", "--insecure", "--state", state, "--node", name],
                                  cwd=it.folder, env=it.simulated(), stdout=log, stderr=log)
    try:
        until = time.monotonic() + 20
        while True:
            with socket.socket() as call:
                if call.connect_ex(("127.0.0.1", port)) == 0:
                    break
            expect("a daemon", daemon.poll() is None and time.monotonic() < until)
            time.sleep(0.05)
        yield
    finally:
        daemon.terminate()
        daemon.wait(20)


def by_daemon(it, live):
    nobody, port = free_ports(2)
    with daemon_on(it, port, "node0"):
        # The first one is not there.
        asked = it.routes("--insecure", "--hosts", f"127.0.0.1:{nobody},127.0.0.1:{port}", "--between", "node0,node5")
        for part in ("counts", "ports", "trunks", "paths"):
            expect(f"{part} by a daemon", asked[part] == live[part])
        expect(f"notes {asked['notes']}", f"127.0.0.1:{nobody} did not read forwarding tables: connection refused" in asked["notes"][0]
               and f"forwarding tables were read by 127.0.0.1:{port}" in asked["notes"][1])


def a_check(bin_folder):
    """check --routes probe: what is measured is loopback, but its hops are planned over the fabric's trunks."""
    names = [f"127.0.0.1:{port}" for port in free_ports(4)]
    netlist = two_levels(2, 2, 2)
    for i, name in enumerate(names):
        netlist = netlist.replace(f'"node{i}"', f'"{name}"')
    with contextlib.ExitStack() as around:
        it = around.enter_context(fabric(bin_folder, netlist, host=names[0]))
        for name in names:
            around.enter_context(daemon_on(it, int(name.split(":")[1]), name))
        done = subprocess.run([it.bin / "ringtrue", "check", "--hosts", ",".join(names), "--insecure", "--routes", "probe", "--transport",
                               "tcp", "--budget", "4s", "--no-record", "--no-inspect", "--json"], cwd=it.folder, env=it.env,
                              capture_output=True, text=True, timeout=120)
        check = json.loads(done.stdout)
        expect(f"{check['notes']} {check['error']}", any(f"read by {names[0]}" in note for note in check["notes"]))
        expect(f"{check['error']}", check["error"] is None)  # the verdict is about this machine's processors


def top_is_a_multiple_of_64(bin_folder):
    """64 LIDs: the highest is in a block of its own, which dump_fts leaves out. Here it is a host's."""
    with fabric(bin_folder, two_levels(4, 14, 4)) as it:
        rows, owners, dumped = compare(it)
        expect(f"{rows} rows", rows == 8 * 56)
        expect("dump_fts has the highest LID by now: this case shows nothing any more", all(64 not in t for t in dumped.values()))
        expect("a host has LID 64", 64 in owners)
        counts = it.routes()["counts"]
        expect(f"unknown ways: {counts}", counts["unknown"] == 0 and counts["none"] == 0 and counts["known"] == 56 * 42)


def other_engines(bin_folder):
    for engine in ("minhop", "updn"):
        with fabric(bin_folder, two_levels(3, 5, 2), engine=engine) as it:
            compare(it)


def several_lids_a_port(bin_folder):
    """LMC 2: the base LIDs' ways, and nothing of the others."""
    with fabric(bin_folder, two_levels(2, 4, 2), engine="minhop", lmc=2) as it:
        rows, owners, _ = compare(it)
        expect(f"{sorted(owners)}", rows == 4 * 8 and all(lid % 4 == 0 for lid in owners))
        expect("ways", it.routes()["counts"]["known"] == 32)


def a_silent_switch(bin_folder):
    """One that walks with the others and answers for no table costs itself, and is named."""
    with fabric(bin_folder, two_levels(4, 14, 4)) as it:
        for port in range(0, 19):
            it.simulator.stdin.write(f'Error "leaf01"[{port}] 100 25\n')
        it.tell("")
        began = time.monotonic()
        routes = it.routes("--between", "node0,node20")
        expect("in a few seconds", time.monotonic() - began < 6)
        expect(f"{routes['notes']}", any(re.match(r"leaf01: 2 of 2 blocks .*no answer", n) for n in routes["notes"]))
        counts = routes["counts"]
        # What leaves it is unknown, what is sent there and all else known.
        expect(f"{counts}", counts["unknown"] == 14 * 42 and counts["none"] == 0)
        expect(f"{routes['paths'][0]}", routes["paths"][0]["way"] == "known" and routes["paths"][1]["way"] == "unknown")


def scale(bin_folder, leaves):
    with fabric(bin_folder, two_levels(leaves, 32, 32)) as it:
        for what in ("fabric", "routes"):
            before = time.monotonic()
            text = it.inside(str(it.bin / "ringtrue-probe"), "ask", what)
            print(f"ringtrue-probe ask {what}: {time.monotonic() - before:.2f} s, {len(text) / 1024:.0f} KiB")
        before = time.monotonic()
        rows, _, _ = compare(it)
        print(f"{rows} rows are OpenSM's and dump_fts's ({time.monotonic() - before:.2f} s with dump_fts)")
        before = time.monotonic()
        counts = it.routes()["counts"]
        print(f"ringtrue topo --routes probe --json: {time.monotonic() - before:.2f} s, {counts}")
        print(f"most memory of a program: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB (OpenSM's included)")


def main():
    missing = [p for p in ("ibsim", "opensm", "dump_fts", "ibnetdiscover") if not shutil.which(p)]
    if missing or not library():
        print(f"skipped: {', '.join(missing) or 'libumad2sim.so'} missing: packaging/install-deps ibsim")
        return 77
    if sys.argv[2:3] == ["--scale"]:
        scale(sys.argv[1], int(sys.argv[3]))
        return 0
    failed = 0
    for case in (small, top_is_a_multiple_of_64, other_engines, several_lids_a_port, a_silent_switch, a_check):
        began = time.monotonic()
        try:
            case(os.path.abspath(sys.argv[1]))
            print(f"ok {case.__name__} ({time.monotonic() - began:.1f} s)")
        except (Failed, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"not ok {case.__name__}: {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    sys.exit(main())
