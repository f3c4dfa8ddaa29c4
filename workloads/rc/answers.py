"""What a receiver answers, and its bytes."""

from __future__ import annotations

from typing import NamedTuple

from workloads.wire import Aeth, Opcode

__all__ = ["Answer", "answer_extensions"]


class Answer(NamedTuple):
    """One answer to send."""

    psn: int
    """of its BTH"""
    syndrome: int
    msn: int


def answer_extensions(answer: Answer) -> tuple[Opcode, bytes]:
    """(opcode, extension headers as on the wire)"""
    return Opcode.ACKNOWLEDGE, (answer.syndrome << 24 | answer.msn).to_bytes(Aeth.LAYOUT.size, "big")
