"""All attacks at once against one daemon, from two machines and with every kind of certificate: a check and a lease of an
honest operator go on and end right, root is answered at the Unix socket, and neither memory nor log grows without bounds.
"""
import os
import statistics
import subprocess
import sys
import time

from . import expect, register
from .broken_peers import settled
from .slow_wire import SERIOUS
from ..cluster import PORT

NODES, RATE = 6, 200
HOSTS = "node[0-3]"
TARGET = "node1"
BESIEGERS = ("node4", "node5")
SECONDS = 60
BESIEGER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "besieger.py")


def certificates(lab):
    """Of an operator who may run, of one who may read, and of a node."""
    for name, role in (("mallory", "run"), ("reader", "read")):
        if not os.path.exists(os.path.join(lab.cluster.pki, name)):
            lab.cluster.certify("issue", "--dir", lab.cluster.pki, name, "--role", role)
    return [os.path.join(lab.cluster.pki, name, kind)
            for name, kind in (("mallory", "operator"), ("reader", "operator"), ("node4", "node"))]


def besiege(lab):
    return [subprocess.Popen(lab.network.command(node, [sys.executable, BESIEGER, TARGET, PORT, SECONDS, *certificates(lab)]),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for node in BESIEGERS]


def lift(besiegers):
    """Ends them all and gives their last words. Raises nothing: what failed before is the error to be told."""
    for besieger in besiegers:
        besieger.terminate()
    said = []
    for besieger in besiegers:
        try:
            out, errors = besieger.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            besieger.kill()
            out, errors = besieger.communicate()
            errors += "did not end when it was asked to, and was killed"
        said.append((out + errors).strip())
    return "; ".join(said)


def most_memory_kB(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))


def check_goes_on(lab):
    pid, log = lab.cluster.pid(TARGET), lab.cluster.log_text(TARGET)
    began = time.monotonic()
    besiegers = besiege(lab)
    local, checks = [], 0
    try:
        time.sleep(2)
        while time.monotonic() < began + SECONDS - 20 or checks < 2:
            outcome = lab.cluster.ringtrue("check", "--hosts", HOSTS, "--pki", lab.cluster.pki, "--json", "--link-rate",
                                           f"{RATE}Mbit", timeout=60)
            expect(outcome.data is not None and outcome.data.get("error") is None, "the check did not end", outcome)
            expect(outcome.code == 0 and outcome.data["verdict"] == "healthy", f"verdict {outcome.data['verdict']}", outcome)
            expect(not [f for f in outcome.data["findings"] if f["severity"] in SERIOUS], "somebody is blamed", outcome)
            checks += 1
            for _ in range(5):
                asked = lab.cluster.ringtrue("nodes", "--hosts", f"unix:{lab.cluster.state(TARGET)}/ringtrued.sock", "--json",
                                             node=TARGET, timeout=20)
                expect(asked.code == 0, "no answer at the Unix socket", asked)
                local.append(asked.seconds)
            lease = lab.cluster.ringtrue("run", "ring", "--hosts", HOSTS, "--pki", lab.cluster.pki, "--size", "1M",
                                         "--iterations", "20", "--json", timeout=60)
            expect(lease.code == 0 and lease.data["results"][0]["wrong"] == 0, "the run did not end right", lease)
    finally:
        minutes = max(1, (time.monotonic() - began) / 60)
        said = lift(besiegers)
    memory, lines = most_memory_kB(pid), lab.cluster.log_text(TARGET)[len(log):].count("\n")
    told = f"{memory} kB, {lines} lines in {minutes:.1f} min, {checks} checks, {statistics.median(local):.2f} s; {said}"
    print("#", told, flush=True)
    expect(lab.cluster.pid(TARGET) == pid and os.path.exists(f"/proc/{pid}"), "the daemon is gone")
    expect(memory < 256_000, told)
    expect(lines <= 100 * minutes, told)
    expect(statistics.median(local) < 1, told)
    settled(lab)


register("siege/check-goes-on", check_goes_on, nodes=NODES, rate=RATE)
