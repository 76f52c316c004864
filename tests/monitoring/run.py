#!/usr/bin/env python3
"""run.py PROMTOOL RINGTRUED: what packaging/monitoring has, by Prometheus' own tool: rules, their cases, the board's
expressions; and the page of a daemon.

Every metric that they name is one that ringtrue or node_exporter has, and every alert has a case that fires and one that does not.
"""
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = ROOT / "packaging" / "monitoring"
sys.path.insert(0, str(ROOT / "tests" / "lab"))
from ringlab.board import expressions  # noqa: E402


def promtool(*words):
    done = subprocess.run([sys.argv[1], *words], capture_output=True, text=True, cwd=HERE, timeout=120)
    if done.returncode:
        sys.exit(f"promtool {' '.join(words)}: {done.stdout}{done.stderr}")


promtool("check", "rules", "ringtrue.rules.yml")
promtool("test", "rules", "ringtrue.rules.test.yml")

rules = (HERE / "ringtrue.rules.yml").read_text()
cases = (HERE / "ringtrue.rules.test.yml").read_text()
for alert in re.findall(r"- alert: (\w+)", rules):
    told = re.findall(rf'alertname="{alert}".*\n.*\n +exp_samples: (.*)', cases)
    if not any("value: 1" in t for t in told) or "[]" not in told:
        sys.exit(f"{alert} has no case that fires, or none that is quiet")
if rules.count("runbook:") != len(re.findall(r"- alert:", rules)):
    sys.exit("an alert has no runbook")

board = list(expressions(json.loads((HERE / "ringtrue.board.json").read_text())))
with tempfile.TemporaryDirectory() as folder:
    made = Path(folder) / "board.yml"
    lines = ["groups:", "  - name: board", "    rules:"]
    for i, expr in enumerate(board):
        lines += [f"      - record: board:{i}", f"        expr: {json.dumps(expr)}"]
    made.write_text("\n".join(lines) + "\n")
    promtool("check", "rules", str(made))

known = set(re.findall(r"`(ringtrued?_\w+)`", (ROOT / "docs" / "metrics.md").read_text()))
written = set()
for source in ("lib/metrics/build.cc", "lib/report/metrics.cc", "daemon/metrics.cc"):
    written |= set(re.findall(r'"(ringtrued?_\w+)"', (ROOT / source).read_text()))
if known != written:
    sys.exit(f"docs/metrics.md differs from what the sources write: {sorted(known ^ written)}")
named = set(re.findall(r"\b(ringtrued?_\w+)", rules + " ".join(board)))
if named - known:
    sys.exit(f"no such metrics: {sorted(named - known)}")


def page_of_daemon(program):
    """What a daemon shows on loopback; its page is there some tenths of a second after its start."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = "127.0.0.1:%d" % probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as state:
        daemon = subprocess.Popen([program, "--state", state, "--node", "node0", "--metrics", address],
                                  stderr=subprocess.DEVNULL)
        try:
            for _ in range(100):
                try:
                    return urllib.request.urlopen(f"http://{address}/metrics", timeout=10).read().decode()
                except OSError:
                    time.sleep(0.1)
            sys.exit("the daemon shows no page")
        finally:
            daemon.terminate()
            daemon.wait(20)


page = page_of_daemon(sys.argv[2])
linted = subprocess.run([sys.argv[1], "check", "metrics"], input=page, capture_output=True, text=True, timeout=60)
if linted.returncode or linted.stdout or linted.stderr:
    sys.exit(f"promtool check metrics of the daemon's page: {linted.stdout}{linted.stderr}")
