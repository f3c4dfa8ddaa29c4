"""A binomial tree on a rack without packets: as messages that wait for one another, and as flows."""

from __future__ import annotations

from testbed.scale.fluid import Flow, FluidPhase, run_phases
from testbed.scale.legs import link_rates, through_switch_s
from testbed.scale.messages import Message, rack_path, run_messages
from testbed.scale.model import RackLink, RackModel, RackPoint
from testbed.scale.outcome import ScaleOutcome
from testbed.scale.trains import TrainFraming
from workloads.costs.checks import check_ranks

__all__ = ["MODEL", "binomial_tree_flows", "binomial_tree_messages"]


def binomial_tree_messages(ranks: int, size_bytes: int) -> list[Message]:
    """Reduce to rank 0, then broadcast from it; a rank sends the whole vector, when it has all that it waits for."""
    check_ranks(ranks)
    rounds = (ranks - 1).bit_length()
    messages: list[Message] = []
    came: list[tuple[int, ...]] = [()] * ranks
    for step in range(rounds):
        distance = 1 << step
        for rank in range(distance, ranks, 2 * distance):
            came[rank - distance] += (len(messages),)
            messages.append(Message(rank, rank - distance, size_bytes, came[rank]))
    for step in reversed(range(rounds)):
        distance = 1 << step
        for rank in range(0, ranks - distance, 2 * distance):
            messages.append(Message(rank, rank + distance, size_bytes, came[rank]))
            came[rank + distance] = (len(messages) - 1,)
    return messages


def binomial_tree_flows(ranks: int, size_bytes: int, link: RackLink, framing: TrainFraming) -> ScaleOutcome:
    """Reduce to rank 0, round by round, then broadcast."""
    check_ranks(ranks)
    wire, phases = framing.train(size_bytes).wire_bytes, []
    for step in range((ranks - 1).bit_length()):
        distance = 1 << step
        flows = tuple(
            Flow((("up", rank), ("down", rank - distance)), wire, through_switch_s(link, framing))
            for rank in range(distance, ranks, 2 * distance)
        )
        phases.append(FluidPhase(flows, 2))
    return run_phases(phases, link_rates(ranks, link))


def _messages(point: RackPoint) -> ScaleOutcome:
    return run_messages(binomial_tree_messages(point.hosts, point.size_bytes), rack_path(point.links), point.framing)


def _flows(point: RackPoint) -> ScaleOutcome:
    return binomial_tree_flows(point.hosts, point.size_bytes, point.link, point.framing)


MODEL = RackModel("tree", "binomial_tree", _messages, _flows)
