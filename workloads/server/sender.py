"""What leaves a parameter server for one job: results, questions and refusals, to the switch or to a worker."""

from __future__ import annotations

from typing import Any

import cython

from workloads.datagrams.worker_sets import WorkerSets
from workloads.server.block import Block
from workloads.server.config import JobOfServer
from workloads.server.kinds import served_kinds
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, SEQUENCES, AggregationHeader, DatagramKind, encode_datagram

if not cython.compiled:
    from workloads.kernels import copy_bytes, finished, new_draft, put8, put16, put32, write_words
    from workloads.wire.inspected import (
        AT_EXPONENT0,
        AT_EXPONENT1,
        AT_FLAGS,
        AT_KIND,
        AT_NELEM,
        AT_NEW_SLOT,
        AT_PAYLOAD,
        AT_PRIORITY,
        AT_SEQUENCE,
        AT_SLOT,
        AT_TENSOR,
        addressed,
        seal,
    )

__all__ = ["JobSender"]

_RESULT, _SEQUENCES = int(DatagramKind.RESULT), SEQUENCES
_TO_ALL = -1
"""stand-in for a rank: all workers"""


class JobSender:
    """`envelope`: of results for all. A subclass may override its methods."""

    def __init__(self, job: JobOfServer, envelope: Envelope) -> None:
        self._job, self._saturating = job, job.arithmetic.dtype == "int32sat"
        self._sets = WorkerSets(len(job.members), job.racks)
        self._everybody = self._sets.everybody
        bitmap0, bitmap1, _ = self._sets.names_of_all
        wide = self._sets.is_wide
        self._header = AggregationHeader(
            served_kinds()[job.kind].policy, DatagramKind.RESULT, job.job, 0, 0, bitmap0,
            len(job.racks[0]) if wide else len(job.members), bitmap1=bitmap1, fan_in1=len(job.racks) if wide else 0,
            op=int(self._saturating), server=int.from_bytes(envelope.src_ip, "big"),
        )  # fmt: skip
        self._template = encode_datagram(envelope, AGGREGATION_PORT, self._header, b"")
        self.departures: list[bytes] = []

    def _result_of(self, block: Block, flags: int, new_slot: int) -> bytes:
        """The result for all, with its sum."""
        size = AT_PAYLOAD + 4 * block.size
        draft = new_draft(size)
        copy_bytes(draft, 0, self._template, 0, AT_PAYLOAD)
        self._describe(draft, block, _RESULT)
        put16(draft, AT_FLAGS, flags)
        put16(draft, AT_NEW_SLOT, new_slot)
        put8(draft, AT_EXPONENT0, block.exponent0)
        put8(draft, AT_EXPONENT1, block.exponent1)
        put16(draft, AT_NELEM, block.size)
        write_words(draft, AT_PAYLOAD, block.values, 0, block.size)
        seal(draft, size)
        return finished(draft)

    def _about(self, block: Block, kind: int) -> bytes:
        """A packet to the switch without elements."""
        draft = new_draft(AT_PAYLOAD)
        copy_bytes(draft, 0, self._template, 0, AT_PAYLOAD)
        self._describe(draft, block, kind)
        seal(draft, AT_PAYLOAD)
        return finished(draft)

    def _describe(self, draft: Any, block: Block, kind: int) -> None:
        put8(draft, AT_KIND, kind)
        put32(draft, AT_SEQUENCE, (block.number + 1) % _SEQUENCES)
        put16(draft, AT_SLOT, block.slot)
        put32(draft, AT_TENSOR, block.tensor)
        put8(draft, AT_PRIORITY, block.priority)

    def _send_to_all(self, block: Block) -> int:
        """How many frames that are."""
        if self._job.multicast:
            self._send(_TO_ALL, block)
            return 1
        for rank in range(len(self._job.members)):
            self._send(rank, block)
        return len(self._job.members)

    def _send(self, rank: int, block: Block) -> None:
        if rank == _TO_ALL:
            self.departures.append(block.frame)
        else:
            self._give(rank, block.frame)

    def _give(self, rank: int, frame: bytes) -> None:
        """Send the frame to that worker."""
        member = self._job.members[rank]
        self.departures.append(addressed(frame, member.mac, member.ip))
