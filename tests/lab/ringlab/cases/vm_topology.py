"""A machine with two NUMA nodes, PCIe switches and root ports below their maximum: found, and marked."""
import json
import os
import re
import subprocess
import sys

import vm

from . import expect, register

# By the numbers of ringlab.virtual's drawing.
NICS_NUMA = {0: 0, 1: 0, 2: 0, 3: 0, 4: 0, 5: 1}
PATHS = {("gpu0", 0): "PXB", ("gpu0", 1): "PXB", ("gpu0", 2): "PIX", ("gpu0", 3): "PHB", ("gpu0", 4): "NODE",
         ("gpu0", 5): "SYS", ("gpu1", 0): "SYS", ("gpu1", 2): "SYS", ("gpu1", 4): "SYS", ("gpu1", 5): "PHB"}
BAD_TLP = 1 << 6  # of PCIe's correctable errors


def known(value):
    """A fact's value, or None."""
    return value["value"] if isinstance(value, dict) else value


def gpus(document):
    """Names of gpu0 and gpu1: the second is on the later bus."""
    found = sorted(document["nodes"][0]["gpus"], key=lambda gpu: gpu["address"])
    return {name: gpu["name"] for name, gpu in zip(("gpu0", "gpu1"), found)}


def what_is_there(lab):
    document = lab.document
    node, counts = document["nodes"][0], document["counts"]
    expect(counts["pcie_switches"] == 2, f"2 PCIe switches, not {counts['pcie_switches']}")
    expect(counts["gpus"] == 2, f"2 GPUs, not {counts['gpus']}")
    expect(counts["nics"] == 6 and counts["virtual_nics"] == 0, f"6 NICs, none of them virtual: {counts}")
    bridges = lab.shell("cd /sys/bus/pci/devices; grep -l 0x0604 */class").replace("/class", "").split()
    expect(sorted(device["address"] for device in node["pci"] if known(device["class"]) >> 8 == 0x0604) == bridges,
           f"the bridges are {bridges}")
    numa = node["processors"]["numa"]
    expect([zone["number"] for zone in numa] == [0, 1], f"NUMA nodes 0 and 1: {numa}")
    for zone in numa:
        total = int(lab.shell(f"grep MemTotal /sys/devices/system/node/node{zone['number']}/meminfo").split()[3])
        expect(known(zone["memory"]) == total * 1024, f"{total} KiB of memory in {zone}")
    pci, numbers = {device["address"]: device for device in node["pci"]}, lab.netdevs()
    for nic in node["nics"]:
        number, = (numbers[name] for name in nic["netdevs"])
        place = known(pci[nic["address"]]["numa"])
        expect(place == NICS_NUMA[number], f"nic{number} is at NUMA node {NICS_NUMA[number]}, not {place}")
    expect(known(node["system"]["iommu"]) == "passthrough", f"IOMMU: {node['system']['iommu']}")
    groups = {device: int(group) for group, device in re.findall(
        r"/(\d+)/devices/(\S+)", lab.shell("ls -d /sys/kernel/iommu_groups/*/devices/*"))}
    for device in node["pci"]:
        expect(known(device["iommu_group"]) == groups[device["address"]], f"not in its IOMMU group: {device}")
    expect(known(node["system"]["kernel"]) == lab.shell("uname -r").strip(), "another kernel")


def paths(lab):
    document = lab.document
    names, numbers = gpus(document), lab.netdevs()
    netdevs = {number: name for name, number in numbers.items()}
    kinds = {(row["gpu"], row["nic"]): row["kind"] for row in document["affinity"]}
    for (gpu, number), kind in PATHS.items():
        found = kinds.get((names[gpu], netdevs[number]))
        expect(found == kind, f"{gpu} - nic{number} is {kind}, not {found}; {kinds}")


def marks_the_root_ports(lab):
    """Root ports of 16 GT/s x16 and 8 GT/s x4 that run at 2.5 GT/s x1, because what hangs below can do no more."""
    slow = lab.shell("""cd /sys/bus/pci/devices
        for address in *; do
          grep -qE '^(16|8).0 GT' $address/max_link_speed && grep -q '^2.5' $address/current_link_speed && echo $address
        done 2>/dev/null; true""").split()
    expect(len(slow) == 2, f"the machine has two such ports, not {slow}")
    document = lab.document
    limited = [finding for finding in document["findings"] if finding["kind"] == "pcie-link-limited"]
    expect({finding["severity"] for finding in limited} == {"info"}, f"for information: {limited}")
    for address in slow:
        expect(any(address in json.dumps(finding) for finding in limited), f"{address} is not marked: {limited}")
    text = lab.shell("ringtrue topo --all")
    for address in slow:
        expect(re.search(rf"^i .*{address}", text, re.MULTILINE), f"{address} is not marked in the tree\n{text}")
    outcome = lab.run("ringtrue check --inspect --json")
    expect(outcome.code == 0 and outcome.data["verdict"] == "healthy", "nothing here is degraded", outcome)


def device_that_could_do_more(lab):
    """nic3's own maximum as high as its root port's: the link is then degraded, to a sixteenth."""
    netdev, folder = lab.netdev(3), f"/sys/bus/pci/devices/{lab.address(3)}"
    lab.shell(f"""echo '8.0 GT/s PCIe' >/tmp/speed; echo 4 >/tmp/width; cd {folder}
        mount --bind /tmp/speed max_link_speed; mount --bind /tmp/width max_link_width""")
    try:
        outcome = lab.run("ringtrue check --inspect --json")
    finally:
        lab.shell(f"cd {folder}; umount max_link_speed max_link_width")
    found = [finding for finding in outcome.data["findings"] if finding["kind"] == "pcie-link-degraded"]
    expect(len(found) == 1 and netdev in json.dumps(found), f"{netdev}'s link alone is degraded", outcome)
    expect(found[0]["severity"] in ("warning", "critical") and outcome.code in (1, 2), "graver than that", outcome)


def rail_faster_than_its_slot(lab):
    """A NIC that says 2.5 Gbit/s behind 2.5 GT/s x1, which carries 2 (one of 10 there is inside a chipset)."""
    netdev = lab.netdev(3)
    lab.shell(f"ethtool -s {netdev} speed 2500 duplex full")
    try:
        outcome = lab.run("ringtrue check --inspect --json")
    finally:
        lab.shell(f"ethtool -s {netdev} speed 1000 duplex full")
    found = [finding for finding in outcome.data["findings"] if finding["kind"] == "nic-pcie-bound"]
    expect(len(found) == 1 and netdev in json.dumps(found[0]["scope"]), f"{netdev}'s slot is too slow for it", outcome)


def pcie_errors(lab):
    """Errors within the window are told with their device; old ones are no news."""
    address, inject = lab.address(0), lab.inject(lab.address(0), correctable=BAD_TLP)
    lab.shell(inject)
    quiet = lab.run("ringtrue check --inspect --json --window 1s")
    expect(quiet.code == 0 and "aer_" not in json.dumps(quiet.data["findings"]), "an old error is no fault", quiet)
    # Again and again, because a busy machine may take its first reading late.
    loud = lab.run(f"""(while [ ! -e /run/enough ]; do {inject}; sleep 0.3; done) & pid=$!
        ringtrue check --inspect --json --window 2s; code=$?
        touch /run/enough; wait $pid; rm /run/enough; exit $code""")
    found = [finding for finding in loud.data["findings"] if finding["kind"] == "pcie-errors"]
    expect(len(found) == 1, f"{address}'s errors are not found", loud)
    expect(address in json.dumps(found) or lab.netdev(0) in json.dumps(found[0]["scope"]), "somebody else's", loud)
    expect("corrected" in json.dumps(found).lower(), "corrected errors", loud)


def recording(lab):
    """What was gathered in the machine says the same anywhere else."""
    lab.shell("rm -f /tmp/node.gz; ringtrue gather -o /tmp/node.gz")
    path = os.path.join(os.path.dirname(lab.log), "node.gz")
    with open(path, "wb") as file:
        file.write(lab.run("cat /tmp/node.gz").stdout)
    run = subprocess.run([os.path.join(lab.programs, "ringtrue"), "topo", "--json", "--from", path],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    expect(run.returncode == 0, f"topo --from: {run.stderr}")
    here, there = json.loads(run.stdout), lab.document
    for key in ("counts", "affinity", "paths"):
        expect(here[key] == there[key], f"{key} differ: {here[key]} {there[key]}")
    for key in ("pci", "gpus", "nics", "processors"):
        expect(here["nodes"][0][key] == there["nodes"][0][key], f"{key} differ")
    kinds = [sorted((finding["kind"], json.dumps(finding["scope"])) for finding in document["findings"])
             for document in (here, there)]
    expect(kinds[0] == kinds[1], f"findings differ: {kinds}")


def without_root(lab):
    outcome = lab.run("su -s /bin/sh nobody -c 'ringtrue topo --json'")
    expect(outcome.code == 0 and outcome.data, "topo fails without root", outcome)
    expect(outcome.data["counts"] == lab.document["counts"], "without root there is less", outcome)
    expect(outcome.data["affinity"] == lab.document["affinity"], "without root paths differ", outcome)
    expect("root" in json.dumps(outcome.data["nodes"][0]["gaps"]), "it does not say what needs root", outcome)


def half_removed(lab):
    """Devices that come and go while they are read."""
    def read():
        return lab.run(f"""
            cd /sys/bus/pci
            (while [ ! -e /run/enough ]; do
              echo 1 >devices/{lab.address(0)}/remove; sleep 0.02; echo 1 >rescan; sleep 0.02
            done) & pid=$!
            code=0
            for turn in 1 2 3; do
              ringtrue topo --json >/run/topo.$turn || code=$?
            done
            touch /run/enough; wait $pid; rm /run/enough; exit $code""", 120)
    try:
        outcome = read()
    except vm.Ended as error:  # QEMU's own end, which an NIC removed in the middle of its work can be
        print(f"# {error}\n# it is started once more", file=sys.stderr, flush=True)
        lab.boot()
        outcome = read()
    expect(outcome.code == 0, "topo fails beside devices that come and go", outcome)
    for turn in range(1, 4):
        document = lab.run(f"cat /run/topo.{turn}").data
        expect(document and document["counts"]["gpus"] == 2 and document["counts"]["pcie_switches"] == 2,
               f"the rest is not shown: {document and document['counts']}")
        expect(document["counts"]["nics"] in (5, 6), f"5 or 6 NICs: {document['counts']}")
    lab.set_up()


def unplugged(lab):
    """An NIC that is pulled out is gone, and nothing else is."""
    netdev = lab.netdev(5)
    lab.machine.qmp("device_del", id="nic5")
    lab.machine.begin("for turn in $(seq 20); do ringtrue topo --json >/run/last || exit; "
                      f"[ -e /sys/class/net/{netdev} ] || break; done; ringtrue topo --json", 120)
    outcome = lab.machine.finish()
    expect(outcome.code == 0 and outcome.data, "topo fails while an NIC is pulled out", outcome)
    expect(outcome.data["counts"]["nics"] == 5, "5 NICs are left", outcome)
    expect(netdev not in json.dumps(outcome.data["nodes"][0]["nics"]), f"{netdev} is still shown", outcome)
    lab.machine.stop()  # the next case wants it whole


for case in (what_is_there, paths, marks_the_root_ports, device_that_could_do_more, rail_faster_than_its_slot,
             pcie_errors, recording, without_root, half_removed, unplugged):
    register(f"vm/{case.__name__.replace('_', '-')}", case, quick=True, machine="numa")
