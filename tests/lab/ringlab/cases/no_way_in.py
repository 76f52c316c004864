"""Nobody gets in without the right certificate, and no stranger does harm."""
import os
import re
import shutil
import subprocess
import sys

from . import expect, register
from .broken_peers import Watched, settled, words_of
from .idle import resident_bytes
from ..cluster import PORT

TARGET = "node2"
STRANGER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "stranger.py")


def stranger(lab, kind, port, count, *pki, timeout=180):
    """Runs stranger.py on node6 against the target; its answer."""
    command = lab.network.command("node6", [sys.executable, STRANGER, kind, TARGET, port, count, *pki])
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
    expect(done.returncode == 0, f"the stranger failed: {done.stderr[-500:]}")
    return done.stdout.strip()


def refused(lab, pki, words=("run", "ring", "--size", "1M")):
    """The command is refused in one clear line, exit 3, and every daemon goes on."""
    options = ["--pki", pki] if pki else []
    outcome = lab.cluster.ringtrue(*words, "--hosts", lab.cluster.hosts, *options, timeout=60)
    expect(outcome.code == 3, f"exit {outcome.code}, not 3", outcome)
    lines = [line for line in outcome.err.splitlines() if line.strip()]
    expect(lines, "nothing on stderr", outcome)
    expect(re.search(r"certificate|TLS|pki|role|authority|expired", outcome.err), "the reason is not said", outcome)
    expect(not re.search(r"terminate called|what\(\):|Aborted|Segmentation", outcome.err), "it crashed", outcome)
    settled(lab)
    return outcome


def said(lab, node, before):
    """What a daemon has logged since `before` characters."""
    return lab.cluster.log_text(node)[before:]


def no_certificate(lab):
    before = len(lab.cluster.log_text(TARGET))
    empty = os.path.join(lab.cluster.directory, "empty-pki")
    os.makedirs(empty, exist_ok=True)
    refused(lab, empty)
    answer = stranger(lab, "tls", PORT, 1)
    expect(answer.startswith("refused"), f"a client without a certificate was {answer}")
    expect(re.search(r"handshake|certificate", said(lab, TARGET, before), re.I),
           f"the daemon says nothing about it: {said(lab, TARGET, before)[-500:]}")
    settled(lab)


def other_authority(lab):
    before = len(lab.cluster.log_text(TARGET))
    other = os.path.join(lab.cluster.directory, "other-pki")
    shutil.rmtree(other, ignore_errors=True)
    lab.cluster.certify("init", "--dir", other)
    refused(lab, other)
    answer = stranger(lab, "tls", PORT, 1, os.path.join(other, "operator"))
    expect(answer.startswith("refused"), f"a client of another authority was {answer}")
    expect(re.search(r"handshake|certificate", said(lab, TARGET, before), re.I), "the daemon says nothing about it")


def expired_operator(lab):
    """Signed by the right authority, but of the past: made with openssl, which lets one choose the dates."""
    folder = os.path.join(lab.cluster.directory, "expired-pki")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(lab.cluster.pki, "operator"), folder)
    resign(lab, os.path.join(folder, "operator.crt"), os.path.join(folder, "operator.key"))
    outcome = refused(lab, folder)
    expect("expired" in outcome.err or "valid" in outcome.err, "expiry is not the reason given", outcome)


def expired_node(lab):
    """A daemon whose certificate has expired does not start, and says so."""
    folder = os.path.join(lab.cluster.directory, "expired-node-pki")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(lab.cluster.pki, TARGET), folder)
    resign(lab, os.path.join(folder, "node.crt"), os.path.join(folder, "node.key"))
    lab.cluster.stop(TARGET)
    before = len(lab.cluster.log_text(TARGET))
    lab.cluster.start(TARGET, pki=folder)
    try:
        code = lab.cluster.daemons[TARGET].wait(timeout=10)
    finally:
        lab.cluster.stop(TARGET)
    expect(code == 3, f"the daemon's exit code is {code}, not 3")
    expect("expired" in said(lab, TARGET, before), f"no reason: {said(lab, TARGET, before)[-500:]}")
    lab.cluster.start(TARGET)
    settled(lab)


def expiring_node(lab):
    """A certificate that is good for some days yet: `nodes`, `check` and the daemon's log say so, and all goes on."""
    folder = os.path.join(lab.cluster.directory, "expiring-pki")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(lab.cluster.pki, folder)
    shutil.rmtree(os.path.join(folder, TARGET))
    lab.cluster.certify("issue", "--dir", folder, TARGET, "--days", "9")
    lab.cluster.stop(TARGET)
    before = len(lab.cluster.log_text(TARGET))
    lab.cluster.start(TARGET, pki=os.path.join(folder, TARGET))
    try:
        lab.cluster.wait_ready()
        warning = f"certificate of {TARGET} expires in"
        for words in (["nodes"], ["check", "--budget", "3"]):
            outcome = lab.cluster.ringtrue(*words, "--hosts", lab.cluster.hosts, "--pki", lab.cluster.pki, "--json",
                                           timeout=60)
            notes = [note for note in outcome.data["notes"] if "expires" in note]
            expect(len(notes) == 1 and warning in notes[0], f"{words[0]} notes {notes}", outcome)
        expect(warning in said(lab, TARGET, before), "the daemon's log says nothing of it")
    finally:
        lab.cluster.stop(TARGET)
        lab.cluster.start(TARGET)
    settled(lab)


def resign(lab, certificate, key):
    """The same certificate with its dates in the past, signed by the lab's authority."""
    work = os.path.join(lab.cluster.directory, "resign")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    config = os.path.join(work, "ca.cnf")
    with open(os.path.join(work, "index.txt"), "w"), open(os.path.join(work, "serial"), "w") as serial:
        serial.write("7464\n")
    with open(config, "w") as file:
        file.write(f"""[ca]
default_ca = lab
[lab]
database = {work}/index.txt
serial = {work}/serial
new_certs_dir = {work}
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = optional
organizationalUnitName = optional
organizationName = optional
[req]
distinguished_name = dn
[dn]
""")
    request = os.path.join(work, "request.pem")
    run("openssl", "x509", "-x509toreq", "-in", certificate, "-signkey", key, "-out", request,
        "-copy_extensions", "copy")
    run("openssl", "ca", "-batch", "-config", config, "-cert", os.path.join(lab.cluster.pki, "ca.crt"),
        "-keyfile", os.path.join(lab.cluster.pki, "ca.key"), "-in", request, "-out", certificate, "-notext",
        "-startdate", "20200101000000Z", "-enddate", "20200201000000Z")


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-500:]}")


def read_only(lab):
    """May ask what a node is, may not run anything."""
    lab.cluster.certify("issue", "--dir", lab.cluster.pki, "reader", "--role", "read")
    reader = os.path.join(lab.cluster.pki, "reader")
    outcome = lab.cluster.ringtrue("nodes", "--hosts", lab.cluster.hosts, "--pki", reader)
    expect(outcome.code == 0, "a reader may not even read", outcome)
    before = len(lab.cluster.log_text(TARGET))
    outcome = refused(lab, reader)
    expect("role" in outcome.err or "read" in outcome.err, "the role is not the reason given", outcome)
    expect(re.search(r"role|refused", said(lab, TARGET, before)), "the daemon says nothing about it")


def data_ports(lab, node):
    """TCP ports that the node's workers listen on."""
    listing = subprocess.run(lab.network.command(node, ["ss", "-Hltn"]), capture_output=True, text=True).stdout
    ports = {int(line.split()[3].rpartition(":")[2]) for line in listing.splitlines()}
    return sorted(ports - {PORT})


def strange_data(lab):
    """Strangers on the data port of a run: dropped and counted, and the run is right."""
    watched = Watched(lab, *words_of("run", "barrier"))
    watched.wait_for_pause()
    ports = data_ports(lab, TARGET)
    expect(ports, f"{TARGET} has no data port to knock at")
    for port in ports:
        stranger(lab, "garbage", port, 20)
    outcome = watched.finish(60)
    expect(outcome.code == 0, "strangers broke the run", outcome)
    expect(outcome.data["results"][0]["wrong"] == 0, "strangers got into the result", outcome)
    expect(re.search(r'"strangers":\s*[1-9]', outcome.out), "no stranger is counted", outcome)
    settled(lab)


def garbage(connections, mebibytes):
    """Noise on the daemon's port: it answers afterwards and its memory is as it was."""
    def case(lab):
        settled(lab)
        stranger(lab, "garbage", PORT, 500)  # what it takes once, it may keep
        pid = lab.cluster.pid(TARGET)
        before = resident_bytes(pid)
        made = int(stranger(lab, "garbage", PORT, connections))
        expect(made >= connections * 0.99, f"only {made} of {connections} connections were made")
        stranger(lab, "flood", PORT, mebibytes)
        expect(lab.cluster.pid(TARGET) == pid and os.path.exists(f"/proc/{pid}"), "the daemon is gone")
        grown = resident_bytes(pid) - before
        expect(grown < 5e6, f"the daemon grew by {grown / 1e6:.1f} MB")
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        expect(descriptors < 100, f"the daemon holds {descriptors} descriptors")
        settled(lab)

    return case


register("no-way-in/no-certificate", no_certificate, quick=True)
register("no-way-in/other-authority", other_authority, quick=True)
register("no-way-in/expired-operator", expired_operator, quick=True)
register("no-way-in/expired-node", expired_node)
register("no-way-in/expiring-node", expiring_node, quick=True)
register("no-way-in/read-only", read_only, quick=True)
register("no-way-in/strange-data-connections", strange_data, quick=True)
register("no-way-in/garbage", garbage(1000, 10), quick=True)
register("no-way-in/ten-thousand-garbage-connections", garbage(10000, 100))
