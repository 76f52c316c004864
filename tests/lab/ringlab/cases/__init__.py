"""Every case of the lab suite. A case is a function of the lab that asserts; see register()."""
import dataclasses
import importlib
from typing import Callable

MODULES = ("slow_wire", "healthy", "at_times", "others_traffic", "wire_rate", "calibration", "broken_peers", "dead_nodes", "blocked", "causes", "no_way_in", "siege", "idle",
           "omnireduce", "campaign", "fabric", "history", "dashboard", "metrics", "vm_topology", "vm_roce", "vm_provider", "vm_verbs", "vm_verbs_faults")


@dataclasses.dataclass
class Case:
    name: str        # "slow-wire/node3-egress-50-rated"
    run: Callable    # of a ringlab.runner.Lab or a ringlab.virtual.VirtualLab
    quick: bool      # part of the default selection
    nodes: int = 8
    rate: int = 500  # Mbit/s
    fabric: tuple = ()  # of a ringlab.fabric.LeafNetwork: leaves, spines, hash policy, a trunk's rate over a node's
    machine: str = ""  # a virtual machine of ringlab.virtual instead of nodes on a network


_cases = []


def register(name, run, quick=False, **lab):
    _cases.append(Case(name, run, quick, **lab))


def all_cases():
    if not _cases:
        for module in MODULES:
            importlib.import_module(f"ringlab.cases.{module}")
    return _cases


def expect(condition, message, outcome=None):
    """Unlike assert: survives -O, and shows the command."""
    if not condition:
        raise AssertionError(message if outcome is None else f"{message}\n{outcome}")
