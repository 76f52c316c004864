"""Soft-RoCE devices of a stock kernel: shown as what they are, and counted."""
from . import expect, register
from .vm_topology import known

DEVICES = ("rxe_veth0", "rxe_dummy0", "rxe_eth0")
COUNTER = "/sys/class/infiniband/rxe_dummy0/ports/1/hw_counters/rdma_sends"
MESSAGES = 20


def nics(document):
    return {nic["rdma"]: nic for nic in document["nodes"][0]["nics"] if nic["rdma"]}


def devices(lab):
    document = lab.document
    found = nics(document)
    expect(sorted(found) == sorted(DEVICES), f"RDMA devices {sorted(found)}")
    expect(document["counts"]["nics"] == 1, f"one NIC with hardware of its own: {document['counts']}")
    for name in DEVICES:
        nic, base = found[name], f"/sys/class/infiniband/{name}"
        expect(nic["virtual"], f"{name} has no hardware of its own: {nic}")
        expect(nic["netdevs"] == [name.removeprefix("rxe_")], f"{name}'s netdev: {nic['netdevs']}")
        guid = lab.shell(f"cat {base}/node_guid").strip().replace(":", "")
        expect(known(nic["guid"]) == guid, f"{name}'s GUID is {guid}: {nic['guid']}")
        port, = nic["ports"]
        expect(port["layer"] == "ethernet" and known(port["state"]) == "active", f"{name}'s port: {port}")
        gids = lab.shell(f"cat {base}/ports/1/gids/* | grep -v '^0000:0000:0000:0000:0000:0000:0000:0000$'").split()
        expect(port["gids"] == gids, f"{name}'s GIDs are {gids}: {port['gids']}")
    iommu = document["nodes"][0]["system"]["iommu"]
    expect(known(iommu) == "translated", f"IOMMU: {iommu}")
    answers = lab.run("ringtrue-probe ask verbs")
    expect(sorted(device["name"] for device in answers.data["devices"]) == sorted(DEVICES), "verbs say else", answers)
    missing = [gap for gap in document["nodes"][0]["gaps"] if gap["source"] == "verbs"]
    expect(not missing, f"what verbs said was lost: {missing}")


def counters(lab):
    """A window's difference is what the kernel's own counter says, to the digit."""
    for _ in range(3):  # a busy machine may read the first time after the messages
        outcome = lab.run(f"""cat {COUNTER}
            ringtrue topo --json --window 5s >/run/topo & pid=$!
            sleep 2
            ibv_rc_pingpong -d rxe_dummy0 -g 1 -n {MESSAGES} >/dev/null & server=$!
            sleep 1; ibv_rc_pingpong -d rxe_dummy0 -g 1 -n {MESSAGES} 10.2.0.1 >/dev/null && wait $server && wait $pid
            code=$?; cat {COUNTER}; exit $code""")
        expect(outcome.code == 0, "topo or the messages failed", outcome)
        before, after = (int(word) for word in outcome.out.split())
        expect(after - before == 2 * MESSAGES, f"the kernel counted {after - before} messages")
        window = lab.run("cat /run/topo").data["nodes"][0]["window"]
        found = [change for change in window["changes"]
                 if (change["device"], change["counter"]) == ("rxe_dummy0/1", "rdma_sends")]
        if found:
            break
    expect(found, f"no change of rdma_sends: {window}")
    expect((found[0]["before"], found[0]["after"]) == (before, after), f"from {before} to {after}: {found}")
    expect(5 <= window["seconds"] < 15, f"a window of 5 s: {window['seconds']}")


def not_blamed(lab):
    """A virtual link that is down is nobody's fault."""
    outcome = lab.run("ip link set veth1 down; ringtrue topo --json; ulimit -l unlimited; "
                      "ringtrue check --inspect --json >/run/check; code=$?; ip link set veth1 up; exit $code")
    port, = nics(outcome.data)["rxe_veth0"]["ports"]
    expect(known(port["state"]) == "down", f"the port's state: {port}")
    check = lab.run("cat /run/check")
    expect(outcome.code == 0 and check.data["verdict"] == "healthy", "a virtual device is blamed", check)


def memlock(lab):
    """The kernel's 8 MiB are too few for RDMA. (That unlimited is enough is seen in not_blamed.)"""
    outcome = lab.run("ringtrue check --inspect --json")
    kinds = [finding["kind"] for finding in outcome.data["findings"] if finding["severity"] != "info"]
    expect(kinds == ["memlock-low"] and outcome.code == 1, "a warning of that alone", outcome)


def without_devices(lab):
    """The driver leaves between two looks."""
    outcome = lab.run("for name in veth0 dummy0 eth0; do rdma link delete rxe_$name; done; ringtrue topo --json; "
                      "for name in veth0 dummy0 eth0; do rdma link add rxe_$name type rxe netdev $name; done")
    document = outcome.data
    expect(not nics(document), f"no RDMA device is left: {nics(document)}")
    expect(document["counts"]["nics"] == 1, f"the NIC is still there: {document['counts']}")


for case in (devices, counters, not_blamed, memlock, without_devices):
    register(f"vm/soft-roce-{case.__name__.replace('_', '-')}", case, quick=True, machine="roce")
