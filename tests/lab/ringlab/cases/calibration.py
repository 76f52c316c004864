"""The simulator takes its costs from a run on these links, and then comes within 10 % of it at every size."""
import json
import os

from . import expect, register

SIZES = ("--from", "64K", "--to", "256M", "--factor", "4")
MOST = 0.10


def calibrated(algorithm):
    def run(lab):
        live = lab.cluster.fleet("run", algorithm, *SIZES, "--iterations", "3", "--deadline", "5m", timeout=600)
        expect(live.code == 0, f"exit {live.code}", live)
        file = os.path.join(lab.cluster.directory, f"{algorithm}.json")
        with open(file, "w") as out:
            out.write(live.out)
        model = lab.cluster.ringtrue("simulate", algorithm, "--calibrate", file, *SIZES, "--json", timeout=600)
        expect(model.code == 0, f"exit {model.code}", model)
        pairs = list(zip(live.data["results"], model.data["results"], strict=True))
        shown = "\n".join(f"{a['bytes']:>10} bytes: measured {a['time_s']['median']:.6f} s, "
                          f"simulated {b['time_s']['median']:.6f} s" for a, b in pairs)
        shown += "\n" + json.dumps(model.data.get("calibration"))
        for measured, simulated in pairs:
            off = simulated["time_s"]["median"] / measured["time_s"]["median"] - 1
            expect(abs(off) <= MOST, f"{measured['bytes']} bytes: {off:+.1%}\n{shown}")

    return run


for name in ("ring", "double-tree", "halving-doubling"):
    register(f"calibration/{name}", calibrated(name))
