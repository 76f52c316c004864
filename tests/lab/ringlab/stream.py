"""Another job's traffic: one TCP stream between two nodes, of so many Mbit/s; 0: as much as it gets.

stream.py ADDRESS PORT takes one in, stream.py ADDRESS PORT MBIT sends it."""
import contextlib
import signal
import socket
import subprocess
import sys
import time

PORT = 9900


def receive(address, port):
    with socket.create_server((address, port)) as server:
        while True:
            stream, _ = server.accept()
            with stream, contextlib.suppress(OSError):
                while stream.recv(1 << 20):
                    pass


def send(address, port, mbit):
    chunk = bytes(64 << 10)
    while True:
        try:
            stream = socket.create_connection((address, port))
            break
        except OSError:
            time.sleep(0.05)
    due = time.monotonic()
    with stream:
        while True:
            stream.sendall(chunk)
            if mbit:
                # What a full port held up is not made good.
                due = max(due, time.monotonic() - 0.2) + len(chunk) * 8 / (mbit * 1e6)
                time.sleep(max(0, due - time.monotonic()))


@contextlib.contextmanager
def between(network, source, destination, mbit=0):
    address = network.address(destination)
    started = []
    try:
        for node, more in ((destination, []), (source, [mbit])):
            words = [sys.executable, __file__, address, PORT, *more]
            started.append(subprocess.Popen(network.command(node, words), stdin=subprocess.DEVNULL))
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


if __name__ == "__main__":
    signal.alarm(120)  # whatever becomes of the lab
    if len(sys.argv) > 3:
        send(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
    else:
        receive(sys.argv[1], int(sys.argv[2]))
