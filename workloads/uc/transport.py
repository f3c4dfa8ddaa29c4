"""Unreliable connections (UC) as a transport."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING

from workloads.rc.transport import RoceTransport
from workloads.transports.endpoint import LONGEST
from workloads.wire.opcodes import Opcode

if TYPE_CHECKING:
    from workloads.config import QpConfig
    from workloads.uc.endpoint import UcEndpoint

__all__ = ["UNRELIABLE", "opcodes_of"]


class _Unreliable(RoceTransport):
    name = "uc"
    summary = "RoCE v2 unreliable connections, each packet of the protocol a message"
    timers = MappingProxyType({"retransmission": "no result came: the worker sends the message again"})

    def endpoint(
        self, queue_pairs: Iterable[QpConfig] = (), *, longest: int = LONGEST, batches: bool = True
    ) -> UcEndpoint:
        from workloads.uc.endpoint import UcEndpoint  # here: plans and faults make none

        made = UcEndpoint(longest)
        made.add_qps(queue_pairs)
        return made


UNRELIABLE = _Unreliable()


def opcodes_of(packets: int) -> frozenset[int]:
    """Of messages of at most `packets` packets."""
    longer = (Opcode.UC_WRITE_FIRST, Opcode.UC_WRITE_LAST_IMM) if packets > 1 else ()
    longest = (Opcode.UC_WRITE_MIDDLE,) if packets > 2 else ()
    return frozenset(map(int, (Opcode.UC_WRITE_ONLY_IMM, *longer, *longest)))
