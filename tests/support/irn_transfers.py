"""Messages over a pair of endpoints that repeat what was lost alone, and what must have come of them."""

from __future__ import annotations

from tests.support.rc_pair import RcPair, pattern
from workloads.rc import ReceiveCompleted

__all__ = ["check", "transfer"]


def transfer(pair: RcPair, *sizes: int) -> list[bytes]:
    """Messages of these sizes, all posted at once, each to its own place; what they hold."""
    messages, at = [], 0
    for number, size in enumerate(sizes):
        messages.append(pattern(size, salt=number))
        pair.write(messages[-1], wr_id=number, imm=number, at=at)
        at += size
    pair.run()
    return messages


def check(pair: RcPair, messages: list[bytes]) -> None:
    """Each arrived once, whole and in order; both sides know; the MSN counts messages."""
    assert pair.received == messages
    assert pair.statuses() == [(number, "SUCCESS") for number in range(len(messages))]
    arrived = [c for c in pair.completions["b"] if isinstance(c, ReceiveCompleted)]
    assert [(c.imm, c.length) for c in arrived] == [(n, len(message)) for n, message in enumerate(messages)]
    last = max((s for s in pair.sent if s.side == "b"), key=lambda s: s.index)
    assert last.packet.aeth is not None
    assert last.packet.aeth.msn == len(messages) & 0xFFFFFF
