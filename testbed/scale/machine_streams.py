"""FR, TA and PN over machines of GPUs at the flow level: phases of fair transfers over each machine's NIC and inner
links.

`representatives` machines stand for all. Every machine does the same at the same time, and its links carry the same, so
one solves the fair shares of all. None simulates every machine; a test holds both to the same times. Equal phases in a
row are solved once. Payload bytes only, as the cost models count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from testbed.scale.fluid import Flow, FluidPhase, Link, run_phases
from testbed.scale.outcome import ScaleOutcome
from workloads.costs import EqualMachines

__all__ = ["MACHINE_FLOWS", "machine_flow_level"]


def machine_flow_level(
    algorithm: str, machines: EqualMachines, size_bytes: float, representatives: int | None = 1
) -> ScaleOutcome:
    """`algorithm` is FR, TA or PN."""
    shown = machines.machines if representatives is None else min(representatives, machines.machines)
    phases = MACHINE_FLOWS[algorithm](machines, size_bytes, shown)
    return run_phases(phases, _rates(machines, shown))


def _flat_ring(place: EqualMachines, size: float, shown: int) -> list[FluidPhase]:
    """2(P-1) phases: every GPU passes M/P to the next one, the last of a machine through both NICs."""
    chunk, n = size / place.gpus, place.per_machine
    flows = [
        Flow((("inner", machine, gpu),), chunk, place.alpha_s) for machine in range(shown) for gpu in range(n - 1)
    ] + [Flow(_between(machine, (machine + 1) % shown), chunk, place.alpha_s) for machine in range(shown)]
    return [FluidPhase(tuple(flows), 2 * (place.gpus - 1))]


def _tencent(place: EqualMachines, size: float, shown: int) -> list[FluidPhase]:
    n, count = place.per_machine, place.machines
    # A chain of GPUs hands on the whole vector piece by piece, so all its links carry at once.
    chain = FluidPhase(
        tuple(
            Flow((("inner", machine, gpu),), size, (n - 1) * place.inner_alpha_s)
            for machine in range(shown)
            for gpu in range(n - 1)
        )
    )
    ring = FluidPhase(
        tuple(Flow(_between(m, (m + 1) % shown), size / count, place.alpha_s) for m in range(shown)), 2 * (count - 1)
    )
    return [chain, ring, chain]


def _parallel_netreduce(place: EqualMachines, size: float, shown: int) -> list[FluidPhase]:
    n = place.per_machine
    step = tuple(
        Flow((("inner", machine, gpu),), size / n, place.inner_alpha_s) for machine in range(shown) for gpu in range(n)
    )
    inside = FluidPhase(step if n > 1 else (), n - 1)
    # n rings share the NIC; each machine's GPU i sends its piece up and gets the sum down.
    summed = tuple(
        Flow((("up", machine), ("down", machine)), size / n, place.netreduce_alpha_s)
        for machine in range(shown)
        for _ in range(n)
    )
    return [inside, FluidPhase(summed), inside]


MACHINE_FLOWS: Mapping[str, Callable[[EqualMachines, float, int], list[FluidPhase]]] = {
    "FR": _flat_ring, "TA": _tencent, "PN": _parallel_netreduce,
}  # fmt: skip


def _between(sender: int, receiver: int) -> tuple[Link, ...]:
    return ("up", sender), ("down", receiver)


def _rates(place: EqualMachines, shown: int) -> Mapping[Link, float]:
    rates: dict[Link, float] = {}
    for machine in range(shown):
        rates["up", machine] = rates["down", machine] = place.inter_bps
        for gpu in range(place.per_machine):
            rates["inner", machine, gpu] = place.intra_bps
    return rates
