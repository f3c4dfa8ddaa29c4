"""What program `dlcp` does with packets, on the compiled path.

It looks at what workers at its ports send to their server, and lets everything else pass. The first packet of a block
takes a slot. The sum leaves for the server when all workers at the switch's ports are inside, or when the slot has
waited long enough. The sum carries a bitmap of the workers inside, and the slot is free. Contributions stay apart until
then, so that a sum is by rank, in whatever order they came. A retransmitted packet (RESEND) passes, since its block may
be gone. So does a packet that finds no slot.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from switch_nodes.dlcp.slots import Slot, SlotPool
from workloads.collectives.arithmetic import fold
from workloads.datagrams.arrival import Arrival
from workloads.datagrams.blocks import ContributionIgnored, PartialSent
from workloads.machine import Buffer
from workloads.quick import Quick
from workloads.wire.aggregation import DatagramError, DatagramFlag, DatagramKind, Policy, decode_datagram
from workloads.wire.places import TOS_AT

if not cython.compiled:
    from workloads.kernels import NEVER, bit_of, copy_bytes, finished, get8, new_draft, put8, put32
    from workloads.wire.inspected import AT_BITMAP0, AT_PAYLOAD, AT_VERSION, is_sound, seal

__all__ = ["DlcpService"]

_DLCP, _DATA, _RESEND, _TOS = int(Policy.DLCP), int(DatagramKind.DATA), int(DatagramFlag.RESEND), TOS_AT


class DlcpService(Quick):
    """The greater part of a program. `queues`: events and frames of the program. A subclass may override its methods
    without an underscore."""

    def __init__(self, pools: dict[int, SlotPool], counters: dict[str, int], *queues: Any, macs: Any) -> None:
        Quick.__init__(self, *queues)
        self.served, self._counters, self._macs = pools, counters, macs
        self._now = 0
        self._found = Arrival()

    def take(self, port: int, frame: bytes, now: int) -> None:
        self._pass_time(now)
        a = self._found
        if not is_sound(frame):
            try:
                decode_datagram(frame)  # which says why
            except DatagramError as error:
                self._ignore(ContributionIgnored(-1, -1, -1, -1, error.reason))
                return
            self.forward(port, frame)
            return
        a.read(frame)
        pool = self.served.get(a.job)
        rank = -1 if pool is None else self._sender(pool, a)
        if pool is None or rank < 0:
            self.forward(port, frame)
        elif a.flags & _RESEND:
            self._count("again")
            self.forward(port, frame)
        else:
            self._count("data_in")
            self.add(pool, a, rank, port)

    def _sender(self, pool: SlotPool, a: Arrival) -> int:
        """Of what a worker at one of our ports sends to its server; below 0: it passes."""
        if a.policy != _DLCP or a.kind != _DATA or a.destination != pool.server or not 0 < a.count <= pool.elements:
            return -1
        rank: int = pool.ranks.get(a.source, -1)
        return rank if rank >= 0 and a.bitmap == bit_of(rank) else -1

    def forward(self, port: int, frame: Buffer) -> None:
        """As a plain switch."""
        raise NotImplementedError

    def emit(self, port: int, frame: Buffer) -> None:
        """What leaves."""
        raise NotImplementedError

    def add(self, pool: SlotPool, a: Arrival, rank: int, port: int) -> None:
        """The contribution of a worker."""
        slot = pool.slot_of(a)
        if slot is None:
            slot = pool.begin(a, self._now)
            if slot is None:
                self._count("no_slot")
                self.forward(port, a.frame)
                return
        if slot.bitmap & bit_of(rank) or a.count != slot.count:
            reason = "duplicate" if slot.bitmap & bit_of(rank) else "mismatch"
            self._ignore(ContributionIgnored(pool.job, rank, a.sequence - 1, slot.index, reason))
            return
        slot.rows[rank] = a.frame
        slot.bitmap |= bit_of(rank)
        slot.tos = min(slot.tos, get8(a.frame, _TOS))
        if slot.bitmap == pool.everyone:
            self.send(pool, slot, "complete")

    def send(self, pool: SlotPool, slot: Slot, reason: str) -> None:
        """The sum by rank of those inside leaves, as important as the most important of their packets."""
        config, end = pool.config, AT_PAYLOAD + 4 * slot.count
        pool.end(slot, self._now, reason == "complete")
        joined = b"".join([slot.rows[rank][AT_PAYLOAD:end] for rank in sorted(slot.rows)])
        rows = np.frombuffer(joined, ">u4").astype("<u4").reshape(len(slot.rows), slot.count)
        total: bytes = fold(rows.view(np.uint8), config.arithmetic).view("<u4").astype(">u4").tobytes()
        draft = new_draft(end)
        copy_bytes(draft, 0, pool.template, 0, AT_VERSION)
        copy_bytes(draft, AT_VERSION, slot.first, AT_VERSION, AT_PAYLOAD - AT_VERSION)
        copy_bytes(draft, AT_PAYLOAD, total, 0, end - AT_PAYLOAD)
        put8(draft, _TOS, slot.tos)
        put32(draft, AT_BITMAP0, slot.bitmap)
        seal(draft, end)
        frame = finished(draft)
        block, contributions = slot.iteration * config.window + slot.sequence - 1, [0] * len(config.members)
        for rank in slot.rows:
            contributions[rank] = 1
        self.events.append(PartialSent(pool.job, block, slot.index, tuple(contributions), slot.bitmap, reason))
        self._count("sums_out")
        assert config.server is not None, "check_jobs saw it"
        out = self._macs.lookup(config.server.mac, frame)
        self.emit(config.server.port if out is None else out, frame)

    def due(self) -> int:
        first = NEVER
        for pool in self.served.values():
            due = pool.due()
            if due < first:
                first = due
        return first

    def wake(self, now: int) -> None:
        self._pass_time(now)
        for pool in self.served.values():
            while pool.due() <= now:
                slot = pool.first_slot()
                assert slot is not None, "its timer is valid"
                self._count("sums_late")
                self.send(pool, slot, "late")

    def _pass_time(self, now: int) -> None:
        if now > self._now:
            self._now = now

    def _ignore(self, event: ContributionIgnored) -> None:
        self._count(event.reason)
        self.events.append(event)

    def _count(self, name: str) -> None:
        self._counters[name] = self._counters.get(name, 0) + 1
