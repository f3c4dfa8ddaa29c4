"""Marks of protocols whose switches share slots among blocks and whose servers sum the rest."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.hunt.marks import ASKED_TWICE, RESULT_UNDER_WAY
from testbed.hunt.search_mark import SearchMark

__all__ = ["SERVED_MARKS"]


def _occupied(cause: str) -> tuple[str, ...]:
    return f"slot filling/{cause}", f"slot done/{cause}"


SERVED_MARKS: Mapping[str, SearchMark] = {
    "timer with the sum under way": RESULT_UNDER_WAY,
    "sum sent three times": ASKED_TWICE,
    "copy in another slot": SearchMark(
        "a retransmission meets a slot that another block has", _occupied("resend_other")
    ),
    "result in another slot": SearchMark("a result meets a slot that another block has", _occupied("result_other")),
    "flushed by a copy": SearchMark("a retransmission empties the slot of its own block", _occupied("resend_own")),
    "slot left behind": SearchMark(
        "a newer block of the job takes a slot whose result never came", _occupied("successor")
    ),
    "parts overlap": SearchMark(
        "a packet reaches the server with a worker that is inside the sum already",
        ("block open/overlap", "block open/wider", "block open/wider_completing"),
    ),
    "asked for what is gone": SearchMark(
        "a worker asks for a block that its server has dropped", ("block gone/asked",)
    ),
}
