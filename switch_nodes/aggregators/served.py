"""A job as a switch of programs `atp` and `esa` serves it: who contributes what here, and when a sum is complete."""

from __future__ import annotations

from switch_nodes.jobs import JobConfig
from workloads.errors import InternalError

__all__ = ["ServedJob"]


class ServedJob:
    """Bitmaps have bit r for rank r of the job, at both levels. Contributions *from here* are those of workers at this
    switch's ports; a switch that collects also gets sums of other racks."""

    def __init__(self, config: JobConfig) -> None:
        if config.server is None:
            raise InternalError(f"job {config.job} without a server was not refused")
        self.config, self.job, self.server = config, config.job, config.server
        members, levels = config.members, config.levels
        self.size = len(members)
        self.everyone = (1 << self.size) - 1
        self.op = 1 if config.arithmetic.dtype == "int32sat" else 0
        self.last_slot = config.first_slot + config.slots - 1
        self.by_ip = {member.ip: member for member in members}
        racks = (tuple(range(self.size)),) if levels is None else levels.racks
        self.rack_masks = tuple(sum(1 << rank for rank in rack) for rack in racks)
        own = racks[0] if levels is None else () if levels.own is None else racks[levels.own]
        self.other_racks = tuple(mask for mask, rack in zip(self.rack_masks, racks, strict=True) if rack != own)
        self.fan_in0 = {rank: len(rack) for rack in racks for rank in rack}
        """workers of a rank's rack"""
        self.fan_in1 = 0 if levels is None else len(racks)
        self.collects = levels is None or levels.collects
        """sums of the whole job are completed here"""
        self.own_rack = None if levels is None else levels.own
        self.here = tuple(members[rank] for rank in own)
        self.ranks_here = frozenset(own)
        self.ports_here = frozenset(member.port for member in self.here)
        self.heads = tuple(members[rack[0]] for rack in racks if rack != own) if levels and levels.collects else ()
        """the first worker of each other rack: what is for all of a rack is sent towards it, for the rack's switch"""
        self.target = self.everyone if self.collects else sum(1 << rank for rank in own)
        """the bitmap of a complete sum"""
        self.delivered: dict[int, int] = {}
        """blocks whose results have passed, and when they first did: what is told, and decides nothing"""
        self.occupied = self.peak = self.busy_ns = self.useful_ns = 0
        """`busy_ns`: until the job's last packet of a block without a result, or the last such block that was
        evicted"""
        self._since = self._all_ns = 0

    def racks_in(self, bitmap: int) -> int:
        """Bit k for each rack k that is inside as a whole; 0 with one level."""
        if not self.fan_in1:
            return 0
        return sum(1 << number for number, mask in enumerate(self.rack_masks) if bitmap & mask == mask)

    def touch(self, now: int) -> None:
        """A packet came that the job still needs: until here its slots are in use. Late copies keep nothing busy."""
        self.occupy(0, now)
        self.busy_ns = self._all_ns

    def occupy(self, amount: int, now: int) -> None:
        """`amount` more slots are in use (negative: fewer)."""
        self._all_ns += self.occupied * (now - self._since)
        self._since = now
        self.occupied += amount
        if self.occupied > self.peak:
            self.peak = self.occupied
