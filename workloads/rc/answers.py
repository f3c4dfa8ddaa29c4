"""What a receiver answers, and its bytes."""

from __future__ import annotations

from typing import NamedTuple

from workloads.wire import Aeth, Opcode, Sack

__all__ = ["Answer", "answer_extensions"]


class Answer(NamedTuple):
    """One answer to send."""

    psn: int
    """PSN of its BTH"""
    syndrome: int
    msn: int
    sack: Sack | None = None
    """makes it an answer of IRN"""
    payload: bytes = b""
    """map of an answer of `irn-held`"""


def answer_extensions(answer: Answer) -> tuple[Opcode, bytes]:
    """(opcode, extension headers as on the wire)"""
    aeth = (answer.syndrome << 24 | answer.msn).to_bytes(Aeth.LAYOUT.size, "big")
    if answer.sack is None:
        return Opcode.ACKNOWLEDGE, aeth
    return Opcode.IRN_ANSWER, aeth + answer.sack.encode()
