"""What models of protocols at the flow level share: phases over each host's link up and link down.

Bytes are those on the wire, with the headers and ACKs of the message level. A phase cannot show pieces of one step that
overtake the barrier. The phase gets less latency instead: a ring passes pieces on while the rest of a
chunk still comes in.
"""

from __future__ import annotations

from collections.abc import Mapping

from testbed.scale.fluid import Link
from testbed.scale.model import RackLink
from testbed.scale.trains import TrainFraming

__all__ = ["link_rates", "on_link_s", "propagation_s", "through_switch_s"]


def on_link_s(link: RackLink, wire_bytes: float) -> float:
    """Seconds on one link."""
    return 8 * wire_bytes / link.rate_bps


def propagation_s(link: RackLink) -> float:
    """Seconds of propagation over two links."""
    return 2 * link.delay_ns / 1e9


def through_switch_s(link: RackLink, framing: TrainFraming) -> float:
    """From the last byte sent to the last byte there: two delays, and the switch stores one packet."""
    return propagation_s(link) + on_link_s(link, framing.path_mtu)


def link_rates(ranks: int, link: RackLink) -> Mapping[Link, float]:
    """In bits per second, by way (`up`, `down`) and rank."""
    return {(way, rank): link.rate_bps for way in ("up", "down") for rank in range(ranks)}
