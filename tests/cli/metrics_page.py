#!/usr/bin/env python3
"""metrics_page.py RINGTRUE: who may read the page of `watch --metrics` on an address that others reach.

A certificate of a reader or an operator is let in; none, one of another authority, a node's or a revoked one is not,
and the page goes on for the others.
"""
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

RINGTRUE = sys.argv[1]
warnings.simplefilter("ignore", DeprecationWarning)


def ringtrue(*words):
    done = subprocess.run([RINGTRUE, *words], capture_output=True, text=True, timeout=60)
    if done.returncode:
        sys.exit(f"ringtrue {' '.join(words)}: {done.stdout}{done.stderr}")


def get(port, authority, folder=None, name="operator", least=ssl.TLSVersion.TLSv1_3):
    """The first line of the answer, and the page; what went wrong, and nothing, where there is none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = min(least, ssl.TLSVersion.TLSv1_3)
    context.maximum_version = least
    context.load_verify_locations(authority / "ca.crt")
    if folder:
        context.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain, \
                context.wrap_socket(plain, server_hostname="node0") as s:
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: node0\r\nConnection: close\r\n\r\n")
            answer = b""
            while more := s.recv(65536):
                answer += more
    except (OSError, ssl.SSLError) as error:
        return str(error), ""
    head, _, page = answer.decode().partition("\r\n")
    return head, page


def main():
    # On the address that the page will have: of 127.0.0.1 alone a port may be free that a closed connection still holds.
    with socket.create_server(("0.0.0.0", 0)) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        pki, other = folder / "pki", folder / "other"
        for authority in (pki, other):
            ringtrue("pki", "init", "--dir", str(authority))
        ringtrue("pki", "issue", "--dir", str(pki), "node[0-1]")
        for reader in ("prometheus", "gone"):
            ringtrue("pki", "issue", "--dir", str(pki), "--role", "read", reader)
        ringtrue("pki", "issue", "--dir", str(other), "--role", "read", "prometheus")
        ringtrue("pki", "revoke", "--dir", str(pki), "gone")
        (pki / "node0" / "revoked").write_text((pki / "revoked").read_text())
        watch = subprocess.Popen(
            [RINGTRUE, "watch", "--insecure", "--hosts", "127.0.0.1:1,127.0.0.1:2", "--history", str(folder / "h.db"),
             "--phase-deadline", "1", "--metrics", f"0.0.0.0:{port}", "--metrics-pki", str(pki / "node0")],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            check(port, pki, other, watch)
        finally:
            watch.terminate()
            watch.wait(30)


def check(port, pki, other, watch):
    deadline = time.monotonic() + 30
    while True:  # its page is there some tenths of a second after its start
        head, page = get(port, pki, pki / "prometheus")
        if page or time.monotonic() > deadline or watch.poll() is not None:
            break
        time.sleep(0.1)
    if watch.poll() is not None:
        sys.exit(f"the watch ended: {watch.stderr.read()}")
    wrong = []

    def served(who, answer):
        if not answer[0].startswith("HTTP/1.1 200 ") or "\nringtrue_build_info{" not in answer[1]:
            wrong.append(f"{who} got no page: {answer[0]}")

    def refused(who, answer):
        if answer[0].startswith("HTTP/1.1 2") or "ringtrue_" in answer[1]:
            wrong.append(f"{who} was let in: {answer[0]}")
        served(f"the reader after {who}", get(port, pki, pki / "prometheus"))

    served("a reader", (head, page))
    served("an operator", get(port, pki, pki / "operator"))
    refused("who shows no certificate", get(port, pki))
    refused("a reader of another authority", get(port, pki, other / "prometheus"))
    refused("a reader whose certificate is revoked", get(port, pki, pki / "gone"))
    refused("another node", get(port, pki, pki / "node1", "node"))
    refused("a reader by TLS 1.2", get(port, pki, pki / "prometheus", least=ssl.TLSVersion.TLSv1_2))
    if not get(port, other, pki / "prometheus")[0].startswith("[SSL: CERTIFICATE_VERIFY_FAILED]"):
        wrong.append("the page shows a certificate that another authority vouches for")
    with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
        plain.sendall(b"GET /metrics HTTP/1.1\r\nHost: node0\r\n\r\n")
        try:
            if b"ringtrue_" in plain.recv(65536):
                wrong.append("the page is served without TLS")
        except OSError:
            pass
    if wrong:
        sys.exit("\n".join(wrong))


main()
