"""OmniReduce on four workers and four aggregators: exact, worth it, and its slow or broken aggregators are named."""
import time

from . import expect, register
from .broken_peers import Watched, DaemonKilled, DaemonStopped, VICTIM, WorkerKilled, WorkerStopped, settled
from .slow_wire import RATE, blamed, expect_named
from .wire_rate import results
from ..load import busy_core

WORKERS, AGGREGATORS = "node[0-3]", "node[4-7]"
FIRST = 4          # rank and node of the first dedicated aggregator
DEADLINE = 20      # seconds of a run that is struck
GRACE = 5
LOSSES = ("loss@*>*:share=1%", "loss@*>*:share=10%", "duplicate@*>*:share=5%", "reorder@*>*:share=10%",
          "corrupt@*>*:share=1%", "loss@*>*:share=2%;duplicate@*>*:share=2%;reorder@*>*:share=5%;corrupt@*>*:share=1%")


def where(placement):
    """Nodes, by placement: dedicated ones are the second half of the lab."""
    words = ["--hosts", WORKERS]
    return words + (["--aggregator-hosts", AGGREGATORS] if placement == "dedicated" else ["--aggregators", "4"])


def command(lab, *words, placement="dedicated", timeout=120):
    words = [str(word) for word in words]
    return lab.cluster.ringtrue(*words, *where(placement), "--pki", lab.cluster.pki, "--json", timeout=timeout)


def play(lab, *words, placement="dedicated", transport="tcp", size="4M", iterations=2):
    """One omnireduce; its only result, which is exact."""
    outcome = command(lab, "run", "omnireduce", "--transport", transport, "--size", size, "--iterations", iterations,
                      *words, placement=placement)
    result = results(outcome)[0]
    detail = result["omnireduce"]
    expect(detail["placement"] == placement, f"placement {detail['placement']}, not {placement}", outcome)
    expect((detail["workers"], detail["aggregators"]) == (4, 4), "not four workers and four aggregators", outcome)
    return outcome, result


def exact(transport, placement, *words, densities=(0, 0.01, 0.5, 1), overlaps=("same", "random", "disjoint"),
          faults=None, size="2M"):
    def run(lab):
        for density in densities:
            for overlap in overlaps if density == 0.01 else overlaps[:1]:
                more = ["--fault", faults] if faults else []
                outcome, result = play(lab, "--density", density, "--overlap", overlap, "--no-ring", *words, *more,
                                       placement=placement, transport=transport, size=size)
                detail = result["omnireduce"]
                if density == 0:
                    expect(detail["bytes_sent"] < detail["bytes_dense"] * 0.3, "zeros were sent", outcome)
                if faults and "loss" in faults and density == 1:
                    expect(detail["resent"] > 0, "nothing was lost", outcome)

    return run


def every_type(lab):
    for number, kind in enumerate(("float32", "float64", "float16", "bfloat16", "int32", "int64")):
        for operation in ("sum", "prod", "min", "max", "avg"):
            placement = ("dedicated", "colocated")[number % 2]
            play(lab, "--type", kind, "--op", operation, "--density", "0.3", "--overlap", "random", "--no-ring",
                 placement=placement, size="500004", iterations=1)


def uneven_sizes(lab):
    for size in ("0", "4", "1028", "4099", "1000004"):
        for words in ((), ("--acked",), ("--streams", "3", "--fusion", "5", "--block", "33")):
            play(lab, "--density", "0.5", "--no-ring", *words, size=size)


def worth_it(placement, least):
    """At 10 % density the ring takes `least` times as long, in the same run; the model says 15 and 10."""
    def run(lab):
        outcome, result = play(lab, "--density", "0.1", "--link-rate", f"{RATE}Mbit", placement=placement, size="64M",
                               iterations=3)
        speedup = result["omnireduce"]["ring"]["speedup"]
        expect(speedup >= least, f"{speedup:.2f} times as fast as the ring, not {least}", outcome)

    return run


def slow_port(side, percent, rated):
    """check names the side of the aggregator whose port is slow, and nobody else."""
    def run(lab):
        lab.network.degrade(VICTIM, RATE * percent / 100, side)
        outcome = check(lab, rated)
        expect_named(outcome, [({"egress": "sender", "ingress": "receiver"}[side], VICTIM)])

    return run


def check(lab, rated, placement="dedicated"):
    words = ["check", "--algorithm", "omnireduce"] + (["--link-rate", f"{lab.network.rate:g}Mbit"] if rated else [])
    if placement == "dedicated":
        outcome = command(lab, *words, timeout=60)
    else:
        outcome = lab.cluster.fleet(*words, timeout=60)
    expect(outcome.data is not None, "no JSON", outcome)
    return outcome


def healthy(times, rated, placement="dedicated", busy=False):
    def run(lab):
        for attempt in range(1, times + 1):
            with busy_core(30 if busy else 0):
                outcome = check(lab, rated, placement)
            which = f"check {attempt} of {times}: "
            expect(not blamed(outcome.data), which + f"blames {blamed(outcome.data)}", outcome)
            expect(outcome.data["verdict"] == "healthy", which + f"verdict {outcome.data['verdict']}", outcome)
            expect(outcome.code == 0, which + f"exit {outcome.code}", outcome)

    return run


def slow_hops(transport, side):
    """A run's own record shows the aggregator behind the slow port."""
    def run(lab):
        lab.network.degrade(VICTIM, RATE * 0.3, side)
        outcome, _ = play(lab, "--no-ring", transport=transport, size="16M")
        hops = [hop for hop in outcome.data["hops"] if hop["rate_Bps"] is not None]
        near = {"ingress": "destination", "egress": "source"}[side]
        same_way = [hop for hop in hops if hop[f"{near}_role"] == "aggregator"]
        expect(len(same_way) == 16, f"{len(same_way)} hops with a rate, not 16", outcome)
        slowest = sorted(same_way, key=lambda hop: hop["rate_Bps"])[:4]
        expect(all(hop[f"{near}_node"] == VICTIM for hop in slowest), "the slowest hops are others: "
               f"{[(h['source_node'], h['destination_node'], h['rate_Bps']) for h in slowest]}", outcome)
        least = min(hops, key=lambda hop: hop["rate_Bps"])
        expect(VICTIM in (least["source_node"], least["destination_node"]), f"the slowest hop is {least}", outcome)

    return run


def struck(transport, blow):
    """The aggregator's node breaks while bytes move: named in time; the next run works."""
    def run(lab):
        words = ["run", "omnireduce", "--transport", transport, "--size", "64M", "--iterations", "100", "--no-ring",
                 "--aggregator-hosts", AGGREGATORS, "--phase-deadline", "5s", "--deadline", f"{DEADLINE}s"]
        watched = Watched(lab, *words, hosts=WORKERS)
        until = time.monotonic() + 20
        while len(lab.cluster.workers()) < lab.network.size and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(3)
        expect(watched.process.poll() is None, "the run ended before it could be struck")
        blow.strike(lab)
        hit = time.monotonic()
        try:
            outcome = watched.finish(DEADLINE + GRACE + 5)
            took = time.monotonic() - hit
        finally:
            blow.mend(lab)
        expect(took <= DEADLINE + GRACE, f"ended {took:.1f} s after the blow", outcome)
        expect(outcome.code == 3, f"exit {outcome.code}", outcome)
        expect(outcome.data is not None and outcome.data["error"], "no error in the JSON", outcome)
        failed = outcome.data["error"]
        expect(failed["where"].startswith(VICTIM), f"{failed['where']} is named, not {VICTIM}", outcome)
        culprits = {failure["node"] for failure in failed["failures"] if failure["culprit"]}
        expect(culprits == {VICTIM}, f"{culprits} are blamed", outcome)
        lab.cluster.wait_ready()
        lab.expect_clean(8)
        play(lab, "--no-ring", transport=transport, size="1M")
        settled(lab)

    return run


for _placement in ("dedicated", "colocated"):
    register(f"omnireduce/exact-tcp-{_placement}", exact("tcp", _placement), quick=True)
    register(f"omnireduce/exact-tcp-{_placement}-acked", exact("tcp", _placement, "--acked"))
    register(f"omnireduce/exact-udp-{_placement}", exact("udp", _placement), quick=_placement == "dedicated")
    for _number, _faults in enumerate(LOSSES):
        _name = "mixed" if ";" in _faults else _faults.split("@")[0] + _faults.split("=")[1].rstrip("%")
        register(f"omnireduce/exact-udp-{_placement}-{_name}",
                 exact("udp", _placement, densities=(0, 0.01, 1), faults=_faults),
                 quick=(_placement, _name) == ("dedicated", "mixed"))
    register(f"omnireduce/healthy-{_placement}-rated", healthy(1, True, _placement), quick=_placement == "dedicated")
    register(f"omnireduce/healthy-{_placement}-ten-rated", healthy(10, True, _placement))
    register(f"omnireduce/healthy-{_placement}-ten-unrated", healthy(10, False, _placement))
    register(f"omnireduce/healthy-{_placement}-busy-core", healthy(5, True, _placement, busy=True))
register("omnireduce/every-type-and-operation", every_type)
register("omnireduce/uneven-sizes", uneven_sizes)
register("omnireduce/ten-percent-dedicated", worth_it("dedicated", 4))
register("omnireduce/ten-percent-colocated", worth_it("colocated", 3))

for _side in ("ingress", "egress"):
    for _percent in (80, 50, 10):
        for _rated in (True, False):
            register(f"omnireduce/slow-aggregator-{_side}-{_percent}{'-rated' if _rated else ''}",
                     slow_port(_side, _percent, _rated), quick=(_side, _percent, _rated) == ("ingress", 50, True))
    for _transport in ("tcp", "udp"):
        register(f"omnireduce/slow-hops-{_side}-{_transport}", slow_hops(_transport, _side),
                 quick=(_side, _transport) == ("ingress", "tcp"))

for _transport in ("tcp", "udp"):
    for _blow in (DaemonKilled, DaemonStopped, WorkerKilled, WorkerStopped):
        register(f"omnireduce/mid-run-{_blow.name}-{_transport}", struck(_transport, _blow()),
                 quick=(_transport, _blow.name) == ("tcp", "daemon-killed"))
