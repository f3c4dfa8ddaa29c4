"""NetReduce on a rack without packets: its model for sweeps, and the flow level of it."""

from __future__ import annotations

from testbed.protocols.netreduce.scale_messages import netreduce_on_rack
from testbed.scale.fluid import Flow, FluidPhase, run_phases
from testbed.scale.legs import link_rates, on_link_s, propagation_s
from testbed.scale.model import RackLink, RackModel, RackPoint
from testbed.scale.outcome import ScaleOutcome
from testbed.scale.trains import TrainFraming
from workloads.collectives.ina_header import INA_HEADER_BYTES
from workloads.costs.checks import check_ranks

__all__ = ["MODEL", "netreduce_flows"]


def netreduce_flows(
    ranks: int, size_bytes: int, link: RackLink, framing: TrainFraming, message_packets: int, window_messages: int
) -> ScaleOutcome:
    """The hello, then one phase in which every host sends all and gets all. Where the window is shut before the first
    credit comes back (N T_msg < T_msg + R, protocol text, section 8), there is a phase for each window."""
    check_ranks(ranks)
    room = message_packets * framing.path_mtu - INA_HEADER_BYTES
    full, rest = divmod(size_bytes, room)
    message = framing.train(min(room, size_bytes) + INA_HEADER_BYTES)
    hello, short = framing.train(INA_HEADER_BYTES), framing.train(rest + INA_HEADER_BYTES)
    ack = framing.ack_bytes
    each, end = message.wire_bytes + message.acks * ack, short.wire_bytes + short.acks * ack if rest else 0
    t_msg, frame_s = on_link_s(link, message.wire_bytes), on_link_s(link, message.wire_bytes / message.packets)
    answer_s = 2 * on_link_s(link, ack) + propagation_s(link)
    result_s = frame_s + propagation_s(link)
    # On links that carry data the ACK waits for the frame in front of it, half a frame on each on average.
    credit_s = result_s + answer_s + (frame_s if window_messages > 1 else 0.0)
    first = 2 * on_link_s(link, hello.wire_bytes) + propagation_s(link)

    def phase(wire: float, latency_s: float, repeat: int = 1) -> FluidPhase:
        flows = (Flow((("up", rank), ("down", rank)), wire, latency_s) for rank in range(ranks))
        return FluidPhase(tuple(flows), repeat)

    count = full + bool(rest)
    rounds, behind = divmod(count - 1, window_messages)
    shut_s = t_msg + credit_s - on_link_s(link, window_messages * each)
    # The hello takes a place in the window until it is acknowledged: every N-th message waits for that.
    first += answer_s if count % window_messages == 0 and shut_s > 0 else 0.0
    phases = [FluidPhase((Flow((), 0, first),))]
    if shut_s > 0 and rounds:
        last = behind * each + (end or each)
        phases += [phase(window_messages * each, shut_s, rounds), phase(last - message.acks * ack, result_s)]
    else:
        phases.append(phase(full * each + end - (short if rest else message).acks * ack, result_s))
    return run_phases(phases, link_rates(ranks, link))


def _messages(point: RackPoint) -> ScaleOutcome:
    return netreduce_on_rack(
        point.links,
        point.size_bytes,
        framing=point.framing,
        message_packets=point.message_packets,
        window_messages=point.window_messages,
    )


def _flows(point: RackPoint) -> ScaleOutcome:
    return netreduce_flows(
        point.hosts, point.size_bytes, point.link, point.framing, point.message_packets, point.window_messages
    )


MODEL = RackModel("netreduce", "ina", _messages, _flows)
