#!/usr/bin/python3
"""systemd.py SYSTEM OLD NEW: what administrators do with the .deb where systemd is process 1, in a virtual machine.

SYSTEM: a tar of Debian with systemd and what the packages depend on. OLD, NEW: folders with the packages of two
versions. Prints a line a step; exit 1 where one fails, 77 and the reason where there can be no machine.
"""
import io
import json
import os
import sys
import tarfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lab"))
from ringlab.rdma import address, network  # noqa: E402
from vm import Image, Kernel, Machine, Unavailable  # noqa: E402

AGENT = """[Unit]
Description=runs what the host sends
[Service]
ExecStart=/bin/sh /lab/agent
StandardInput=null
[Install]
WantedBy=multi-user.target
"""
NODES = 4
HOSTS = "".join(f"{address(node - 1)} n{node}\n" for node in range(1, NODES + 1))
CHECK = f"ringtrue check --hosts n[1-{NODES}] --pki /root/pki --json --budget 20s"
# The daemon under its unit is n1; the others are there to be measured with it.
CERTIFICATES = """set -e
rm -rf /root/pki /etc/ringtrue/pki
ringtrue pki init --dir /root/pki
ringtrue pki issue n[1-4] --dir /root/pki
mkdir -p /etc/ringtrue/pki
cp /root/pki/n1/* /etc/ringtrue/pki/
chown -R ringtrue: /etc/ringtrue/pki
echo 'RINGTRUED_OPTIONS="--node n1 --listen 10.77.0.1:7464"' >/etc/default/ringtrued
for node in 2 3 4; do
  systemd-run --quiet --unit peer$node ringtrued --node n$node --pki /root/pki/n$node --listen 10.77.0.$node:7464 --state /run/n$node
done
"""


class Failed(Exception):
    pass


def system_of(base, old, new, path):
    """The system's tar with the agent, the hosts and both versions' packages added."""
    with open(base, "rb") as source, open(path, "wb") as target:
        while block := source.read(1 << 24):
            target.write(block)
    with tarfile.open(path, "a") as tar:
        def put(name, data):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))

        put("./etc/systemd/system/lab-agent.service", AGENT.encode())
        link = tarfile.TarInfo("./etc/systemd/system/multi-user.target.wants/lab-agent.service")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/systemd/system/lab-agent.service"
        tar.addfile(link)
        put("./lab/hosts", HOSTS.encode())
        for name, folder in (("old", old), ("new", new)):
            for package in sorted(os.listdir(folder)):
                if package.startswith(("ringtrue_", "ringtrued_")):
                    tar.add(os.path.join(folder, package), f"./packages/{name}/{package}")


class Systemd:
    def __init__(self, machine):
        self.machine = machine
        self.fault = None

    # ---- what a step says and asks

    def shell(self, script, seconds=120, code=0):
        outcome = self.machine.run(script, seconds)
        if code is not None and outcome.code != code:
            raise Failed(f"ended with {outcome.code}, not {code}:\n{outcome.whole()}")
        return outcome

    def property(self, name, unit="ringtrued"):
        return self.shell(f"systemctl show -p {name} --value {unit}").out.strip()

    def wait(self, what, script, seconds=60):
        until = time.monotonic() + seconds
        while True:
            outcome = self.shell(script, code=None)
            if outcome.code == 0:
                return outcome
            if time.monotonic() > until:
                raise Failed(f"{what} did not come within {seconds} s:\n{outcome.whole()}\n{self.journal()}")
            time.sleep(0.5)

    def wait_for_state(self, state, seconds=60):
        self.wait(f"state {state}", f"test \"$(systemctl is-active ringtrued)\" = {state}", seconds)

    def journal(self, since=""):
        return self.shell(f"journalctl -u ringtrued -o cat --no-pager {since} | tail -n 40", code=None).out

    def expect(self, fine, what, *shown):
        if not fine:
            raise Failed("\n".join([what, *map(str, shown)]))

    # Never an accusation of the node, whatever the verdict on an emulated network.
    def expect_innocent(self, outcome, named=True):
        document = outcome.data
        self.expect(document is not None, "no JSON", outcome.whole())
        accused = [f for f in document["findings"]
                   if f["severity"] in ("warning", "critical") and f["scope"].get("node") == "n1"]
        self.expect(not accused, "n1 is accused", json.dumps(accused, indent=1))
        left = [n for n in document["not_checked"] if "n1" in n.get("what", "")]
        self.expect(left or not named, "n1 is not named as left out", outcome)

    # ---- steps

    def install(self):
        self.shell("dpkg --force-confold -i /packages/old/*.deb", 240)
        self.expect(self.property("ActiveState") == "inactive", "it was started by its installation")
        self.shell("systemctl start ringtrued", code=1)
        status = self.shell("systemctl status --no-pager ringtrued", code=None).out
        self.expect("pki" in status, "the status does not say what it lacks", status)
        self.expect(self.property("NRestarts") == "0" and self.property("ExecMainStatus") == "3",
                    "started again without certificates", self.journal())
        self.expect(self.shell("ss -Hltn 'sport = :7464'").out == "", "a port is open without certificates")

    def ready(self):
        self.shell("cat /lab/hosts >>/etc/hosts\n" + network())
        self.shell(CERTIFICATES, 180)
        # Returns once the daemon has said that it is ready.
        self.shell("systemctl reset-failed ringtrued; systemctl start ringtrued")
        self.expect(self.property("ActiveState") == "active", "not active", self.journal())
        self.expect(self.shell("ss -Hltn 'src 10.77.0.1:7464'").out != "", "ready, but does not listen")
        nodes = self.shell("ringtrue nodes --hosts n[1-4] --pki /root/pki --json")
        self.expect(all(node["reachable"] for node in nodes.data["nodes"]), "not all answer", nodes)
        caps = self.shell("grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/$(systemctl show -p MainPID --value ringtrued)/status").out
        self.expect("CapEff:\t0000000000000000" in caps and "NoNewPrivs:\t1" in caps and "Seccomp:\t2" in caps,
                    "the sandbox is not there", caps)

    def rdma(self):
        topo = self.shell("ringtrue topo --hosts n1 --pki /root/pki --json")
        self.expect("rxe0" in topo.out, "the probe does not see soft-RoCE through the sandbox", topo)
        run = self.shell("ringtrue run ring --hosts n[1-2] --pki /root/pki --transport verbs --size 64K --json", 180)
        used = [row.get("transports") for row in run.data["results"]]
        self.expect("verbs" in json.dumps(run.data), f"no verbs: {used}", run)

    def watchdog(self):
        self.shell("mkdir -p /run/systemd/system/ringtrued.service.d\n"
                   "printf '[Service]\\nWatchdogSec=6\\n' >/run/systemd/system/ringtrued.service.d/short.conf\n"
                   "systemctl daemon-reload && systemctl restart ringtrued")
        main = self.property("MainPID")
        self.shell(f"kill -STOP {main}")
        self.wait("a restart by the watchdog",
                  f"test \"$(systemctl show -p NRestarts --value ringtrued)\" = 1 -a \"$(systemctl is-active ringtrued)\" = active", 60)
        self.expect(self.property("MainPID") != main, "it is the stopped process still")
        self.shell("rm -r /run/systemd/system/ringtrued.service.d && systemctl daemon-reload && systemctl restart ringtrued")

    def reload(self):
        serial = "echo | openssl s_client -connect 10.77.0.1:7464 2>/dev/null | openssl x509 -noout -serial"
        main = self.property("MainPID")
        before = self.shell(serial, code=None).out
        self.shell("set -e; ringtrue pki issue n1 --dir /root/pki\ncp /root/pki/n1/* /etc/ringtrue/pki/\n"
                   "chown -R ringtrue: /etc/ringtrue/pki && systemctl reload ringtrued", 120)
        self.wait("the new certificate", f"test \"$({serial})\" != \"{before.strip()}\"")
        self.expect(self.property("MainPID") == main, "it was restarted")
        self.shell("ringtrue nodes --hosts n1 --pki /root/pki")

    def during_check(self, script):
        """A check, and meanwhile what the script does: the check's outcome."""
        self.shell(f"({CHECK} >/run/check.json 2>/run/check.err; echo $? >/run/check.code) & echo; exit 0")
        self.wait("the lease", "ringtrue nodes --hosts n1 --pki /root/pki --json | grep -q '(check)\\|lease\": \"[^\"]'", 60)
        self.shell(script, 240)
        self.wait("the check's end", "test -e /run/check.code", 180)
        return self.shell("cat /run/check.json; cat /run/check.err >&2; rm /run/check.code")

    def restart(self):
        self.expect_innocent(self.during_check("sleep 3; systemctl restart ringtrued"))
        self.wait_for_state("active")

    def upgrade(self):
        self.expect_innocent(self.during_check("dpkg --force-confold -i /packages/new/*.deb </dev/null"))
        self.wait_for_state("active")
        self.shell("systemctl stop ringtrued && dpkg --force-confold -i /packages/old/*.deb && dpkg --force-confold -i /packages/new/*.deb", 240)
        self.expect(self.property("ActiveState") == "inactive", "an upgrade started what was stopped")
        self.shell("systemctl mask ringtrued && dpkg --force-confold -i /packages/new/*.deb", 240)
        self.expect(self.property("LoadState") == "masked", "an upgrade unmasked it")
        self.shell("systemctl unmask ringtrued && systemctl start ringtrued")

    # Each: one clear line, and systemd leaves a wrong configuration alone.
    def bad_cases(self):
        self.shell("mkdir -p /root/kept && cp -a /etc/ringtrue /root/kept/")
        cases = (
            ("an unknown key", "sed -i 's/^listen/lisen/' /etc/ringtrue/ringtrued.toml", ("ringtrued.toml", "listen"), "3"),
            ("no certificate", "rm /etc/ringtrue/pki/node.crt", ("node.crt",), "3"),
            ("a key that others own", "chown root: /etc/ringtrue/pki/node.key; chmod 600 /etc/ringtrue/pki/node.key", ("node.key",), "3"),
            ("a port that is taken", "systemd-run --quiet --unit taker sh -c 'exec ringtrued --node n1 --pki /root/pki/n1 --listen 10.77.0.1:7464 --state /run/taker'; sleep 3", ("7464",), None),
            ("a state folder that cannot be written", "sed -i 's#^state.*#state = \"/proc/ringtrue\"#' /etc/ringtrue/ringtrued.toml", ("/proc/ringtrue",), "3"),
            ("a state folder that is read-only", "sed -i 's#^state.*#state = \"/srv/ringtrue\"#' /etc/ringtrue/ringtrued.toml", ("/srv/ringtrue", "Read-only"), "3"),
            ("a state folder that is full", "mkdir -p /run/ringtrue; mount -t tmpfs -o mode=755,nr_inodes=1 tmpfs /run/ringtrue; chown ringtrue: /run/ringtrue", ("/run/ringtrue", "No space"), None),
        )
        for what, spoil, named, code in cases:
            self.shell("systemctl stop ringtrued; systemctl reset-failed ringtrued; true")
            cursor = self.shell("journalctl -n 0 --show-cursor -o cat | sed -n 's/^-- cursor: //p'").out.strip()
            self.shell(spoil, code=None)
            self.shell("systemctl start --no-block ringtrued; sleep 4")
            said = self.journal(f"--after-cursor='{cursor}'")
            lines = [line for line in said.splitlines() if "ringtrued:" in line or "error" in line]
            self.expect(any(all(name in line for name in named) for line in said.splitlines()), f"{what}: not named", said)
            if code:
                self.expect(self.property("ExecMainStatus") == code, f"{what}: ended with {self.property('ExecMainStatus')}", said)
                self.expect(self.property("NRestarts") == "0", f"{what}: it was started again", said)
                self.expect(len(lines) <= 1, f"{what}: more than one line", said)
            self.shell("systemctl stop ringtrued taker 2>/dev/null; umount /run/ringtrue 2>/dev/null; rm -rf /etc/ringtrue; cp -a /root/kept/ringtrue /etc/; systemctl reset-failed; true")
        self.shell("systemctl start ringtrued")
        self.wait_for_state("active")
        second = self.shell("setpriv --reuid ringtrue --regid ringtrue --clear-groups ringtrued --node n1 --pki /etc/ringtrue/pki --state /run/ringtrue", code=None)
        self.expect(second.code not in (0, 137) and len(second.err.strip().splitlines()) == 1, "a second daemon", second.whole())

    def remove(self):
        calls = self.shell("journalctl -o cat --no-pager | grep -iE 'type=1326|bad system call|31/SYS'", code=None)
        self.expect(calls.out.strip() == "", "system calls were killed", calls.out)
        self.shell("dpkg --purge ringtrue ringtrued", 240)
        self.expect(self.property("LoadState") == "not-found", "the unit is still known")
        self.expect(self.shell("pgrep -u ringtrue", code=None).out == "", "processes are left")


STEPS = ("install", "ready", "rdma", "watchdog", "reload", "restart", "upgrade", "bad_cases", "remove")


def main():
    base, old, new = sys.argv[1:4]
    steps = sys.argv[4:] or STEPS
    folder = os.path.dirname(os.path.abspath(base))
    try:
        kernel = Kernel.at(os.environ.get("RINGTRUE_VM_CACHE", "build/vm"))
        system = os.path.join(folder, "vm.tar")
        system_of(base, old, new, system)
        machine = Machine(kernel, Image(), folder, ("crc32_generic", "ib_uverbs", "rdma_rxe", "veth", "bridge"), memory=2048, system=system)
    except Unavailable as reason:
        print(reason, file=sys.stderr)
        return 77
    with machine:
        lab = Systemd(machine)
        for step in steps:
            began = time.monotonic()
            try:
                getattr(lab, step)()
            except Failed as why:
                print(f"not ok {step} ({time.monotonic() - began:.0f} s)\n{why}\n--- journal\n{lab.journal()}")
                return 1
            print(f"ok {step} ({time.monotonic() - began:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
