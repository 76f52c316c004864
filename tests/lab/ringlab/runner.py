"""Runs cases one after the other on networks that are kept while the next case can use them."""
import fnmatch
import os
import shutil
import time
import traceback

from . import cases, sanitizer
from .fabric import LeafNetwork
from .cluster import Cluster, alive, processes
from .network import LabError, Missing, Network
from .rdma import RdmaLab
from .virtual import VirtualLab, vm

MACHINES = {"verbs": RdmaLab}  # others are plain ones


class Skip(Exception):
    """The machine lacks what a case needs; the reason is printed."""


class Lab:
    """What a case gets: a network with a daemon on every node."""

    def __init__(self, programs, directory, nodes, rate, fabric=()):
        self.key = ("", nodes, rate, fabric)
        self.network = LeafNetwork(*fabric) if fabric else Network()
        self.network.up(nodes, rate)
        self.read = {}  # how far each log was searched for sanitizers' reports
        self.cluster = Cluster(self.network, programs, directory)
        try:
            self.cluster.start_all()
        except LabError:
            self.close()
            raise

    def close(self):
        self.cluster.stop_all()
        self.network.down()

    def begin(self):
        self.cluster.forget_commands()

    def mend(self):
        """After a case: the links as they were, and a daemon that answers on every node."""
        self.network.restore()
        for node in self.network.names():
            daemon = self.cluster.daemons.get(node)
            if daemon is None or not alive(daemon.pid):
                self.cluster.revive(node)
        self.cluster.wait_ready()

    def remains(self):
        """What a finished command may not leave behind on any node, as lines; empty when clean."""
        lines = [f"a worker is left: pid {pid}" for pid in self.cluster.workers()]
        lines += [f"a command is left: pid {pid}" for pid in processes("ringtrue")]
        lines += [f"/dev/shm/{name} is left" for name in os.listdir("/dev/shm")]
        for node in self.network.names():
            daemon = self.cluster.daemons.get(node)
            if daemon is None or not alive(daemon.pid):
                continue
            for descriptor in os.listdir(f"/proc/{daemon.pid}/fd"):
                try:
                    target = os.readlink(f"/proc/{daemon.pid}/fd/{descriptor}")
                except OSError:
                    continue
                if target.startswith("/memfd:"):
                    lines.append(f"{node}: its daemon still holds {target}")
        answer = self.cluster.fleet("nodes")
        for state in (answer.data or {}).get("nodes", []):
            if state.get("lease"):
                lines.append(f"{state['node']}: still leased to {state['lease']}")
        return lines

    def sanitizer_reports(self):
        """What sanitizers have written since the last call: commands', daemons' and, through them, workers'."""
        found = []
        for name in sorted(os.listdir(self.cluster.directory)):
            path = os.path.join(self.cluster.directory, name)
            if not name.endswith(".log"):
                continue
            with open(path, errors="replace") as file:
                file.seek(self.read.get(name, 0) if os.path.getsize(path) >= self.read.get(name, 0) else 0)
                text = file.read()
                self.read[name] = file.tell()
            found += sanitizer.reports(name, text)
        return found

    def keep_logs(self):
        pass  # they are written into the directory

    def expect_clean(self, seconds=5):
        """Nothing is left once the daemons have noticed: at the latest after a lease's silence."""
        until = time.monotonic() + seconds
        while lines := self.remains():
            if time.monotonic() > until:
                raise AssertionError("left behind: " + "; ".join(lines))
            time.sleep(0.25)


def select(patterns):
    everything = cases.all_cases()
    if not patterns or patterns == ["quick"]:
        return [case for case in everything if case.quick]
    if patterns == ["all"]:
        return everything
    chosen = [case for case in everything
              if any(fnmatch.fnmatch(case.name, pattern) or case.name.startswith(pattern.rstrip("/*") + "/")
                     or case.name == pattern for pattern in patterns)]
    if not chosen:
        raise LabError(f"no case matches {' '.join(patterns)}; see: ./dev lab list")
    return chosen


def key(case):
    """Cases of one key share a lab, one after the other."""
    return (case.machine,) if case.machine else ("", case.nodes, case.rate, case.fabric)


def run(programs, patterns, directory, keep_logs):
    chosen = sorted(select(patterns), key=key)  # stable: keeps networks in use
    passed, failed, skipped = 0, [], 0
    lab, began_all = None, time.monotonic()
    print(f"1..{len(chosen)}", flush=True)
    for number, case in enumerate(chosen, start=1):
        began = time.monotonic()
        verdict, detail = "ok", ""
        try:
            if lab is None or lab.key != key(case):
                if lab is not None:
                    lab.close()
                    lab = None
                shutil.rmtree(directory, ignore_errors=True)
                lab = MACHINES.get(case.machine, VirtualLab)(programs, directory, case.machine) if case.machine else \
                    Lab(programs, directory, case.nodes, case.rate, case.fabric)
            began = time.monotonic()
            lab.begin()
            case.run(lab)
            if reports := lab.sanitizer_reports():
                raise AssertionError("\n".join(reports))
            passed += 1
        except (Skip, Missing, vm.Unavailable) as reason:
            verdict, detail, skipped = "ok", f" # SKIP {reason}", skipped + 1
        except AssertionError as error:
            verdict, detail = "not ok", str(error)
        except Exception:  # a fault of the case or of the lab: shown in full
            verdict, detail = "not ok", traceback.format_exc()
        seconds = time.monotonic() - began
        if verdict == "ok":
            print(f"ok {number} {case.name} ({seconds:.1f} s){detail}", flush=True)
        else:
            failed.append(case.name)
            print(f"not ok {number} {case.name} ({seconds:.1f} s)", flush=True)
            print("\n".join("  | " + line for line in detail.splitlines()), flush=True)
            if keep_logs and os.path.isdir(directory):  # gone with a lab that could not be made
                if lab is not None:
                    lab.keep_logs()
                where = os.path.join(keep_logs, case.name.replace("/", "."))
                shutil.rmtree(where, ignore_errors=True)
                shutil.copytree(directory, where, ignore=shutil.ignore_patterns("pki", "*.sock", "*.key"))
                print(f"  | logs: {where}", flush=True)
        if lab is not None:
            try:
                lab.mend()
            except Exception as error:  # a lab that cannot be mended is made anew
                print(f"# a new lab: {str(error).splitlines()[-1]}", flush=True)
                lab.close()
                lab = None
    if lab is not None:
        lab.close()
    print(f"# lab: {passed} passed, {len(failed)} failed, {skipped} skipped in "
          f"{time.monotonic() - began_all:.0f} s", flush=True)
    for name in failed:
        print(f"# failed: {name}", flush=True)
    return 1 if failed else 0
