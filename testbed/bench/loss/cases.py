"""What `tb bench loss` runs: sweeps over scenarios, one for each network and number of workers."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.sweeps.scenario_model import ScenarioSweep, Variant

__all__ = ["LOSSES", "LOSS_KEY", "Case", "cases_of"]

LOSS_KEY = "faults.loss.rate"
LOSSES = (0.0, 0.0001, 0.001, 0.005, 0.01, 0.02, 0.05)
"""share of all packets, on every link, both ways"""
_EMULATED_LOSSES = (0.0, 0.001, 0.01)
_QUICK_LOSSES = (0.0, 0.01, 0.05)
_SEEDS, _QUICK_SEEDS, _EMULATED_SEEDS = 5, 3, 3
_SIZE, _QUICK_SIZE = "1MB", "300kB"
_RELIABLE = tuple(
    Variant(f"{name} {recovery}", protocol, (("transport.recovery", recovery),))
    for name, protocol, recoveries in (
        ("NetReduce", "netreduce", ("gbn", "irn", "irn-rack", "irn-held")),
        ("ring", "ring", ("gbn", "irn")),
    )
    for recovery in recoveries
)
_FIGURES = ("jct_s", "retransmissions.packets")


@dataclass(frozen=True, slots=True)
class Case:
    """One network, with all protocols that run on it."""

    network: str
    """rack, spine-leaf"""
    workers: int
    sweep: ScenarioSweep

    @property
    def title(self) -> str:
        return f"{self.network}, {self.workers} workers"


def cases_of(world: str, *, quick: bool = False, seeds: int | None = None) -> list[Case]:
    """In the order in which they are run. `quick`: four workers, few rates, and less data."""
    losses = _losses(world, quick=quick)
    count = seeds or (_QUICK_SEEDS if quick else _EMULATED_SEEDS if world == "emulated" else _SEEDS)
    size = _QUICK_SIZE if quick else _SIZE
    return [
        Case(network, workers, _sweep(network, workers, world, losses, count, size))
        for network in ("rack", "spine-leaf")
        for workers in ((4,) if quick else (4, 8))
    ]


def _losses(world: str, *, quick: bool) -> tuple[float, ...]:
    if world == "emulated":  # go-back-N at 5 % takes a hundred times as long: minutes of real time at `dilation: auto`
        return _EMULATED_LOSSES[:: 2 if quick else 1]
    return _QUICK_LOSSES if quick else LOSSES


def _sweep(network: str, workers: int, world: str, losses: tuple[float, ...], seeds: int, size: str) -> ScenarioSweep:
    one_switch = network == "rack"
    each = workers // 2
    topology = (
        f"topology={{kind: rack, hosts: {workers}, link: {{rate: 100Mbps}}}}"
        if one_switch
        else f"topology={{kind: spine_leaf, leaves: 2, spines: 2, hosts_per_leaf: {each}, link: {{rate: 100Mbps}}}}"
    )
    # Beside a rack a parameter server gets a host of its own; here the last host becomes it, and is one more.
    server = () if one_switch else (("topology.hosts_per_leaf", (each, each + 1)),)
    datagrams = (Variant("ATP", "atp", server), Variant("ESA", "esa", server))
    # SwitchML's program sums at one switch only.
    variants = (*_RELIABLE, *((Variant("SwitchML", "switchml"),) if one_switch else ()), *datagrams)
    changes: tuple[str, ...] = (
        topology,
        f"job.size={size}",
        "job.message_packets=170",
        "job.window_messages=2",
        "time_limit=120s",
    )
    if world == "emulated":
        changes = (*changes, "dilation=auto")
    return ScenarioSweep(
        name=f"loss-{network}-{workers}-{world}",
        description=f"JCT over loss: {network}, {workers} workers",
        scenarios=("rack-lossy",),
        variants=variants,
        axes=((LOSS_KEY, losses),),
        seeds=tuple(range(1, seeds + 1)),
        worlds=(world,),
        changes=changes,
        figures=_FIGURES,
    )
