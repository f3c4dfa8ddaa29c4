"""Marks of rings of connections whose messages switches sum."""

from __future__ import annotations

from collections.abc import Mapping

from switch_nodes.events import MessageInferred, ResultReplayed
from testbed.hunt.marks import again, behind
from testbed.hunt.search_mark import SearchMark
from testbed.hunt.transitions import FABRIC_TRANSITIONS
from workloads.events import NakSent, Retransmission

__all__ = ["MESSAGE_MARKS"]


def _at(cause: str) -> tuple[str, ...]:
    """Steps of slots, in any state."""
    return tuple(step for step in FABRIC_TRANSITIONS if "slot " in step and step.endswith(f"/{cause}"))


MESSAGE_MARKS: Mapping[str, SearchMark] = {
    "copy in a reused slot": SearchMark("a retransmission meets a slot that a newer message took", _at("stale")),
    "copy of a delivered message": SearchMark(
        "a retransmission comes when its receiver provably has the message", _at("delivered")
    ),
    "copy while its sum waits": SearchMark(
        "a retransmission meets a complete sum that its own receiver was not sent yet", ("slot done/repeat",)
    ),
    "timer before the NAK": SearchMark(
        "a timer expires for a packet that a NAK has asked for",
        events=(NakSent, Retransmission),
        look=behind(NakSent, "psn", where=lambda event: getattr(event, "cause", "") == "timeout"),
    ),
    "result sent three times": SearchMark(
        "a switch answers for one packet of one host a second time",
        events=(ResultReplayed,),
        look=again("ring_id", "rank", "message", "offset"),
    ),
    "start inferred": SearchMark(
        "a packet begins a message whose FIRST the switch has not seen",
        events=(MessageInferred,),
        look=lambda: lambda event: True,
    ),
}
