"""Collectives on a rack of equal links at the flow level: phases over each host's link up and link down.

Bytes are those on the wire, with the headers and ACKs of the message level. A phase cannot show pieces of one step that
overtake the barrier. The phase gets less latency instead: a ring passes pieces on while the rest of a
chunk still comes in.
"""

from __future__ import annotations

from collections.abc import Mapping

from testbed.scale.fluid import Flow, FluidPhase, Link, run_phases
from testbed.scale.netreduce import RackLink
from testbed.scale.outcome import ScaleOutcome
from testbed.scale.schedules import ring_window
from testbed.scale.trains import TrainFraming
from workloads.collectives.schedules import ring_schedule
from workloads.config import CollectiveConfig
from workloads.costs.checks import check_ranks, log2_exact

__all__ = ["binomial_tree_flows", "halving_doubling_flows", "netreduce_flows", "ring_flows"]

_INA_HEADER_BYTES = 16


def netreduce_flows(
    ranks: int, size_bytes: int, link: RackLink, framing: TrainFraming, message_packets: int, window_messages: int
) -> ScaleOutcome:
    """The hello, then one phase in which every host sends all and gets all. Where the window is shut before the first
    credit comes back (N T_msg < T_msg + R, protocol text, section 8), there is a phase for each window."""
    check_ranks(ranks)
    room = message_packets * framing.path_mtu - _INA_HEADER_BYTES
    full, rest = divmod(size_bytes, room)
    message = framing.train(min(room, size_bytes) + _INA_HEADER_BYTES)
    hello, short = framing.train(_INA_HEADER_BYTES), framing.train(rest + _INA_HEADER_BYTES)
    ack = framing.ack_bytes
    each, end = message.wire_bytes + message.acks * ack, short.wire_bytes + short.acks * ack if rest else 0
    t_msg, frame_s = _on(link, message.wire_bytes), _on(link, message.wire_bytes / message.packets)
    answer_s = 2 * _on(link, ack) + _round(link)
    result_s = frame_s + _round(link)
    # On links that carry data the ACK waits for the frame in front of it, half a frame on each on average.
    credit_s = result_s + answer_s + (frame_s if window_messages > 1 else 0.0)
    first = 2 * _on(link, hello.wire_bytes) + _round(link)

    def phase(wire: float, latency_s: float, repeat: int = 1) -> FluidPhase:
        flows = (Flow((("up", rank), ("down", rank)), wire, latency_s) for rank in range(ranks))
        return FluidPhase(tuple(flows), repeat)

    count = full + bool(rest)
    rounds, behind = divmod(count - 1, window_messages)
    shut_s = t_msg + credit_s - _on(link, window_messages * each)
    # The hello takes a place in the window until it is acknowledged: every N-th message waits for that.
    first += answer_s if count % window_messages == 0 and shut_s > 0 else 0.0
    phases = [FluidPhase((Flow((), 0, first),))]
    if shut_s > 0 and rounds:
        last = behind * each + (end or each)
        phases += [phase(window_messages * each, shut_s, rounds), phase(last - message.acks * ack, result_s)]
    else:
        phases.append(phase(full * each + end - (short if rest else message).acks * ack, result_s))
    return run_phases(phases, _rates(ranks, link))


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
    transit_s = _on(link, frame) + _round(link)
    hidden_s = _on(link, wire - piece)
    step_s = max(0.0, transit_s - hidden_s)
    window = ring_window(ranks, size_bytes, message_packets, framing.path_mtu, window_messages)
    back_s = transit_s + 2 * _on(link, framing.ack_bytes) + _round(link)
    paced_s = wire / (window * piece) * (_on(link, piece) + back_s) - _on(link, wire)
    step_s = max(step_s, paced_s)
    transit_s += max(0.0, paced_s) if len(trains) > window else 0.0

    def phase(latency_s: float, repeat: int) -> FluidPhase:
        flows = (Flow((("up", rank), ("down", (rank + 1) % ranks)), wire, latency_s) for rank in range(ranks))
        return FluidPhase(tuple(flows), repeat)

    return run_phases([phase(step_s, 2 * ranks - 3), phase(transit_s, 1)], _rates(ranks, link))


def halving_doubling_flows(ranks: int, size_bytes: int, link: RackLink, framing: TrainFraming) -> ScaleOutcome:
    """Partners exchange a half, a quarter, ..., then back. Raises ScenarioError when `ranks` is no power of two."""
    steps = log2_exact(ranks, "halving_doubling")
    phases = []
    for step in [*range(steps), *reversed(range(steps))]:
        train = framing.train(size_bytes >> (step + 1))
        flows = tuple(
            Flow((("up", rank), ("down", rank ^ (ranks >> (step + 1)))), train.wire_bytes, _transit(link, framing))
            for rank in range(ranks)
        )
        phases.append(FluidPhase(flows))
    return run_phases(phases, _rates(ranks, link))


def binomial_tree_flows(ranks: int, size_bytes: int, link: RackLink, framing: TrainFraming) -> ScaleOutcome:
    """Reduce to rank 0, round by round, then broadcast."""
    check_ranks(ranks)
    wire, phases = framing.train(size_bytes).wire_bytes, []
    for step in range((ranks - 1).bit_length()):
        distance = 1 << step
        flows = tuple(
            Flow((("up", rank), ("down", rank - distance)), wire, _transit(link, framing))
            for rank in range(distance, ranks, 2 * distance)
        )
        phases.append(FluidPhase(flows, 2))
    return run_phases(phases, _rates(ranks, link))


def _on(link: RackLink, wire_bytes: float) -> float:
    """Seconds on one link."""
    return 8 * wire_bytes / link.rate_bps


def _round(link: RackLink) -> float:
    """Seconds of propagation over two links."""
    return 2 * link.delay_ns / 1e9


def _transit(link: RackLink, framing: TrainFraming) -> float:
    """From the last byte sent to the last byte there: two delays, and the switch stores one packet."""
    return _round(link) + _on(link, framing.path_mtu)


def _rates(ranks: int, link: RackLink) -> Mapping[Link, float]:
    return {(way, rank): link.rate_bps for way in ("up", "down") for rank in range(ranks)}
