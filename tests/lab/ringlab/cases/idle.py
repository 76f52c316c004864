"""A daemon that nobody asks costs next to nothing."""
import os
import time

from . import expect, register

SECONDS = 10


def resident_bytes(pid):
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    raise AssertionError(f"pid {pid} has no resident size")


def switches(pid):
    """How often any thread of a process has gone to sleep and come back."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches"))
    return total


def idle(lab):
    time.sleep(2)  # the connections of the last command have been closed by now
    pids = {node: lab.cluster.pid(node) for node in lab.network.names()}
    before = {node: switches(pid) for node, pid in pids.items()}
    time.sleep(SECONDS)
    for node, pid in pids.items():
        rate = (switches(pid) - before[node]) / SECONDS
        expect(rate <= 5, f"{node}: {rate:.1f} wake-ups a second, not at most 5")
        resident = resident_bytes(pid)
        expect(resident < 30e6, f"{node}: {resident / 1e6:.1f} MB resident, not under 30")


def after_work(lab):
    outcome = lab.cluster.fleet("run", "ring", "--size", "16M", "--iterations", "3")
    expect(outcome.code == 0, "the run failed", outcome)
    idle(lab)


register("idle/at-rest", idle, quick=True)
register("idle/after-a-run", after_work)
