"""Halving and doubling on a rack without packets: as messages that wait for one another, and as flows."""

from __future__ import annotations

from testbed.scale.fluid import Flow, FluidPhase, run_phases
from testbed.scale.legs import link_rates, through_switch_s
from testbed.scale.messages import Message, rack_path, run_messages
from testbed.scale.model import RackLink, RackModel, RackPoint
from testbed.scale.outcome import ScaleOutcome
from testbed.scale.trains import TrainFraming
from workloads.costs.checks import check_ranks, log2_exact

__all__ = ["MODEL", "halving_doubling_flows", "halving_doubling_messages"]


def halving_doubling_messages(ranks: int, size_bytes: int) -> list[Message]:
    """Recursive halving (reduce-scatter), then doubling (all-gather): each step with another partner. Raises
    ScenarioError when `ranks` is no power of two."""
    check_ranks(ranks)
    steps = log2_exact(ranks, "halving_doubling")
    messages: list[Message] = []
    owned = [(0, size_bytes)] * ranks
    last: list[tuple[int, ...]] = [()] * ranks

    def exchange(distance: int, spans: list[tuple[int, int]]) -> None:
        base = len(messages)
        for rank, (start, stop) in enumerate(spans):
            messages.append(Message(rank, rank ^ distance, stop - start, last[rank]))
        for rank in range(ranks):
            last[rank] = (base + (rank ^ distance),)

    for step in range(steps):
        distance = ranks >> (step + 1)
        given, kept = [], []
        for rank, (start, stop) in enumerate(owned):
            middle = (start + stop) // 2
            low, high = (start, middle), (middle, stop)
            given.append(low if rank & distance else high)
            kept.append(high if rank & distance else low)
        exchange(distance, given)
        owned = kept
    for step in reversed(range(steps)):
        distance = ranks >> (step + 1)
        exchange(distance, owned)
        owned = [
            (min(own[0], owned[rank ^ distance][0]), max(own[1], owned[rank ^ distance][1]))
            for rank, own in enumerate(owned)
        ]
    return messages


def halving_doubling_flows(ranks: int, size_bytes: int, link: RackLink, framing: TrainFraming) -> ScaleOutcome:
    """Partners exchange a half, a quarter, ..., then back. Raises ScenarioError when `ranks` is no power of two."""
    steps = log2_exact(ranks, "halving_doubling")
    phases = []
    latency_s = through_switch_s(link, framing)
    for step in [*range(steps), *reversed(range(steps))]:
        train = framing.train(size_bytes >> (step + 1))
        flows = tuple(
            Flow((("up", rank), ("down", rank ^ (ranks >> (step + 1)))), train.wire_bytes, latency_s)
            for rank in range(ranks)
        )
        phases.append(FluidPhase(flows))
    return run_phases(phases, link_rates(ranks, link))


def _messages(point: RackPoint) -> ScaleOutcome:
    return run_messages(halving_doubling_messages(point.hosts, point.size_bytes), rack_path(point.links), point.framing)


def _flows(point: RackPoint) -> ScaleOutcome:
    return halving_doubling_flows(point.hosts, point.size_bytes, point.link, point.framing)


MODEL = RackModel("halving_doubling", "rabenseifner", _messages, _flows)
