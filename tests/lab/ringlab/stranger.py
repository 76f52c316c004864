"""stranger.py KIND HOST PORT COUNT [PKI]: somebody who has no business here.

  garbage   COUNT connections, each with up to 200 bytes of noise, 64 open at a time
  flood     COUNT MiB of noise, over as many connections as it takes
  tls       one TLS handshake without a certificate, or with the operator's of the folder PKI; prints what came of it

The noise comes from a fixed seed. Prints how many connections were made. Ends by itself within 120 s.
"""
import random
import socket
import ssl
import sys
import time

LIMIT = 120


def connect(host, port):
    return socket.create_connection((host, port), timeout=5)


def garbage(host, port, count, noise):
    made, opened, until = 0, [], time.monotonic() + LIMIT
    for _ in range(count):
        if time.monotonic() > until:
            break
        try:
            sock = connect(host, port)
        except OSError:
            continue
        made += 1
        try:
            sock.sendall(noise.randbytes(noise.randint(0, 200)))
        except OSError:
            pass
        opened.append(sock)
        if len(opened) >= 64:
            opened.pop(0).close()
    for sock in opened:
        sock.close()
    return made


def flood(host, port, mebibytes, noise):
    block, sent, made = noise.randbytes(1 << 20), 0, 0
    until = time.monotonic() + LIMIT
    sock = None
    while sent < mebibytes << 20 and time.monotonic() < until:
        try:
            if sock is None:
                sock = connect(host, port)
                made += 1
            # A daemon hangs up early on; what it had to swallow by then still counts.
            sent += sock.send(block[:min(len(block), (mebibytes << 20) - sent)])
        except OSError:
            if sock is not None:
                sock.close()
            sock = None
    if sock is not None:
        sock.close()
    return made


def tls(host, port, pki):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    if pki:
        context.load_cert_chain(f"{pki}/operator.crt", f"{pki}/operator.key")
    try:
        with context.wrap_socket(connect(host, port), server_hostname=host) as sock:
            sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
            while data := sock.recv(4096):
                # With TLS 1.3 the refusal of the missing certificate follows the handshake.
                if data:
                    return "answered"
    except (OSError, ssl.SSLError) as error:
        return f"refused: {error}"
    return "refused: closed"


def main():
    kind, host, port, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    noise = random.Random(7464)
    if kind == "tls":
        print(tls(host, port, sys.argv[5] if len(sys.argv) > 5 else None))
    else:
        print({"garbage": garbage, "flood": flood}[kind](host, port, count, noise))


if __name__ == "__main__":
    main()
