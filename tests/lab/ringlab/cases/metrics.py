"""Daemons' pages and a check's text file, read by Debian's Prometheus: alerts that fire and end."""
import json
import os
import subprocess
import sys

from . import expect, register
from ..board import expressions
from ..prometheus import ROOT, Prometheus

RATE = 500
SLOW = 5  # the node
PAGE = 9464
SILENT = """
import socket, sys, time
half = [socket.create_connection((sys.argv[1], int(sys.argv[2])), 5) for _ in range(64)]
for s in half: s.sendall(b"\\x16\\x03\\x01\\x02\\x00\\x01")
big = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
try:
    for _ in range(10000): big.sendall(b"x" * 1000)
except OSError:
    pass
print("there", flush=True)
time.sleep(60)
"""


def with_pages(lab):
    """All daemons again, with pages."""
    lab.cluster.stop_all()
    for node in lab.network.names():
        lab.cluster.start(node, extra=["--metrics", f"{lab.network.address(node)}:{PAGE}"])
    lab.cluster.wait_ready()


def without_pages(lab):
    lab.cluster.stop_all()
    for node in lab.network.names():
        lab.cluster.start(node)
    lab.cluster.wait_ready()


def firing(alert):
    return f'ALERTS{{alertname="{alert}",alertstate="firing"}}'


def check(lab, prometheus):
    """Its verdict, which Prometheus has as well."""
    outcome = lab.cluster.fleet("check", "--link-rate", f"{RATE}Mbit", "--metrics-file",
                                os.path.join(prometheus.texts, "ringtrue.prom"))
    expect(outcome.data is not None, "no JSON", outcome)
    verdict = outcome.data["verdict"]
    prometheus.wait("ringtrue_check_verdict == 1", lambda samples: [one["verdict"] for one, _ in samples] == [verdict], 15)
    return verdict


def board_is_valid(prometheus):
    """Every expression is one that this Prometheus takes, with its variables put in; those of daemons and of a
    check's results have data."""
    with open(os.path.join(ROOT, "packaging/monitoring/ringtrue.board.json")) as file:
        board = json.load(file)
    for expression in expressions(board):
        filled = expression.replace("$fleet", ".*").replace("$node.*", ".*").replace("$node", ".*")
        samples = prometheus.query(filled)
        # What is rare: no error, no baseline, no regression.
        rare = any(word in expression for word in ("infiniband", "baseline", "> 0", "increase", "finding_info", "< 0.95",
                                                   "regressions"))
        expect(samples or rare, f"no data: {expression}")


def story(lab):
    targets = [f"{node}:{PAGE}" for node in lab.network.names()]
    with_pages(lab)
    with Prometheus(lab, "node0", targets) as prometheus:
        up = 'up{job="ringtrued"} == 1'
        prometheus.wait(up, lambda samples: len(samples) == len(targets), 30)
        verdict = check(lab, prometheus)
        expect(verdict == "healthy", f"{verdict}, not healthy")
        expect(prometheus.query(firing("RingtrueFaulty")) == [], "an alert of a healthy fleet")
        expect(prometheus.value("sum(ringtrued_runs_total)") > 0, "the daemons tell of no run")
        board_is_valid(prometheus)

        lab.network.degrade(SLOW, RATE / 2, "egress")
        verdict = check(lab, prometheus)
        expect(verdict == "faulty", f"{verdict}, not faulty")
        prometheus.wait(firing("RingtrueFaulty"), lambda samples: len(samples) == 1, 15)
        lab.network.restore(f"node{SLOW}")
        check(lab, prometheus)
        prometheus.wait(firing("RingtrueFaulty"), lambda samples: samples == [], 30)

        lab.cluster.stop("node3")
        prometheus.wait('up{job="ringtrued",instance="node3:9464"} == 0', lambda samples: len(samples) == 1, 15)
        lab.cluster.start("node3", extra=["--metrics", f"{lab.network.address('node3')}:{PAGE}"])
        lab.cluster.wait_ready(["node3"])
        prometheus.wait(up, lambda samples: len(samples) == len(targets), 15)
        for counter in ("ringtrued_leases_total", "ringtrued_runs_total", "ringtrued_metrics_requests_total"):
            for wrong in (f"min_over_time({counter}[2m]) < 0", f"increase({counter}[2m]) < 0",
                          f'resets({counter}{{instance!="node3:9464"}}[2m]) > 0'):
                expect(prometheus.query(wrong) == [], f"{wrong}: {prometheus.query(wrong)}")
        slowest = prometheus.value('max(max_over_time(scrape_duration_seconds{job="ringtrued",instance!="node3:9464"}[1m]))')
        expect(slowest < 0.5, f"a scrape took {slowest * 1000:.0f} ms")
        usual = prometheus.value('quantile(0.5, scrape_duration_seconds{job="ringtrued"})')
        expect(usual < 0.05, f"a scrape takes {usual * 1000:.0f} ms, not under 50")
    lab.expect_clean()
    without_pages(lab)


def strangers(lab):
    """Half handshakes and megabytes at a page, while a run goes on through its daemon."""
    with_pages(lab)
    attacker = subprocess.Popen(lab.network.command("node1", [sys.executable, "-c", SILENT, lab.network.address("node0"),
                                                              str(PAGE)]), stdout=subprocess.PIPE, text=True)
    try:
        expect(attacker.stdout.readline().strip() == "there", "the attacker did not get there")
        outcome = lab.cluster.fleet("run", "ring", "--size", "16M", "--iterations", "3")
        expect(outcome.code == 0, "the run failed", outcome)
        with Prometheus(lab, "node2", [f"node0:{PAGE}"]) as prometheus:
            prometheus.wait('up{job="ringtrued"} == 1', lambda samples: len(samples) == 1, 20)
    finally:
        attacker.kill()
        attacker.wait(10)
    without_pages(lab)


register("metrics/prometheus", story)
register("metrics/strangers", strangers)
