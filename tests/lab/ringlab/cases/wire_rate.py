"""A ring over the lab's links runs as fast as the links allow, and every result is right."""
from . import expect, register
from ..network import PAYLOAD_SHARE


def results(outcome):
    expect(outcome.code == 0, f"exit {outcome.code}", outcome)
    expect(outcome.data is not None and outcome.data.get("results"), "no results", outcome)
    for result in outcome.data["results"]:
        expect(result["wrong"] == 0, f"{result['wrong']} wrong elements", outcome)
    return outcome.data["results"]


def ring_rate(size, least):
    def run(lab):
        outcome = lab.cluster.fleet("run", "ring", "--size", size, "--iterations", "3")
        result = results(outcome)[0]
        attainable = lab.network.rate * 1e6 / 8 * PAYLOAD_SHARE
        share = result["busbw_Bps"] / attainable
        expect(least <= share <= 1.02, f"{share:.1%} of what TCP can carry, not {least:.0%} to 102%", outcome)

    return run


def every_algorithm(lab):
    for algorithm in ("ring", "double-tree", "recursive-doubling", "halving-doubling", "hierarchical", "naive", "auto"):
        for size in ("0", "4099", "1M"):
            results(lab.cluster.fleet("run", algorithm, "--size", size, "--iterations", "2"))


def several_ranks(lab):
    for algorithm in ("ring", "double-tree", "hierarchical"):
        results(lab.cluster.fleet("run", algorithm, "--size", "1M", "--iterations", "2", "--ranks-per-node", "2"))


register("wire-rate/ring-64M", ring_rate("64M", 0.95), quick=True)
register("wire-rate/ring-256M", ring_rate("256M", 0.96))
register("wire-rate/every-algorithm", every_algorithm, quick=True)
register("wire-rate/several-ranks-a-node", several_ranks, quick=True)
