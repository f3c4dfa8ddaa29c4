"""Ring all-reduce on a rack without packets: as messages that wait for one another, and as flows."""

from __future__ import annotations

from testbed.scale.fluid import Flow, FluidPhase, run_phases
from testbed.scale.legs import link_rates, on_link_s, propagation_s
from testbed.scale.messages import Message, rack_path, run_messages
from testbed.scale.model import RackLink, RackModel, RackPoint
from testbed.scale.outcome import ScaleOutcome
from testbed.scale.trains import TrainFraming
from workloads.collectives.schedules import ring_schedule
from workloads.config import CollectiveConfig
from workloads.costs.checks import check_ranks

__all__ = ["MODEL", "ring_flows", "ring_messages", "ring_window"]

_RING_WINDOW_PACKETS = 512
"""as workloads.collectives.ring: what is in flight on one connection"""


def ring_messages(ranks: int, size_bytes: int, message_packets: int, path_mtu: int) -> list[Message]:
    """The very schedule of workloads.collectives.ring: chunks in pieces, a piece goes on when it came."""
    check_ranks(ranks)
    config = CollectiveConfig("ring", 1, 0, ranks, message_packets=message_packets)
    plans = [ring_schedule(config, rank, size_bytes // 4, path_mtu) for rank in range(ranks)]
    bases = [sum(len(plan) for plan in plans[:rank]) for rank in range(ranks)]
    places = [{(item.step, item.start): index for index, item in enumerate(plan)} for plan in plans]
    messages = []
    for rank, plan in enumerate(plans):
        before = (rank - 1) % ranks
        for item in plan:
            needs = () if item.step == 0 else (bases[before] + places[before][item.step - 1, item.start],)
            messages.append(Message(rank, (rank + 1) % ranks, item.stop - item.start, needs))
    return messages


def ring_window(ranks: int, size_bytes: int, message_packets: int, path_mtu: int, window_messages: int) -> int:
    """Messages that a rank of the ring leaves unacknowledged at most."""
    config = CollectiveConfig("ring", 1, 0, ranks, message_packets=message_packets)
    longest = max((item.packets for item in ring_schedule(config, 0, size_bytes // 4, path_mtu)), default=1)
    return max(2, window_messages, _RING_WINDOW_PACKETS // longest)


def ring_flows(
    ranks: int, size_bytes: int, link: RackLink, framing: TrainFraming, message_packets: int, window_messages: int
) -> ScaleOutcome:
    """2(P-1) phases, each passes a chunk to the next rank, no faster than the ring's window allows."""
    check_ranks(ranks)
    config = CollectiveConfig("ring", 1, 0, ranks, message_packets=message_packets)
    plan = [item for item in ring_schedule(config, 0, size_bytes // 4, framing.path_mtu) if item.step == 0]
    trains = [framing.train(item.stop - item.start) for item in plan]
    wire = sum(train.wire_bytes + train.acks * framing.ack_bytes for train in trains)
    # The next step's first piece may go when this step's first piece is there, over two links.
    piece, frame = trains[0].wire_bytes, trains[0].wire_bytes / trains[0].packets
    transit_s = on_link_s(link, frame) + propagation_s(link)
    hidden_s = on_link_s(link, wire - piece)
    step_s = max(0.0, transit_s - hidden_s)
    window = ring_window(ranks, size_bytes, message_packets, framing.path_mtu, window_messages)
    back_s = transit_s + 2 * on_link_s(link, framing.ack_bytes) + propagation_s(link)
    paced_s = wire / (window * piece) * (on_link_s(link, piece) + back_s) - on_link_s(link, wire)
    step_s = max(step_s, paced_s)
    transit_s += max(0.0, paced_s) if len(trains) > window else 0.0

    def phase(latency_s: float, repeat: int) -> FluidPhase:
        flows = (Flow((("up", rank), ("down", (rank + 1) % ranks)), wire, latency_s) for rank in range(ranks))
        return FluidPhase(tuple(flows), repeat)

    return run_phases([phase(step_s, 2 * ranks - 3), phase(transit_s, 1)], link_rates(ranks, link))


def _messages(point: RackPoint) -> ScaleOutcome:
    cut = point.hosts, point.size_bytes, point.message_packets, point.path_mtu
    window = ring_window(*cut, point.window_messages)
    return run_messages(ring_messages(*cut), rack_path(point.links), point.framing, window_messages=window)


def _flows(point: RackPoint) -> ScaleOutcome:
    return ring_flows(
        point.hosts, point.size_bytes, point.link, point.framing, point.message_packets, point.window_messages
    )


MODEL = RackModel("ring", "ring", _messages, _flows)
