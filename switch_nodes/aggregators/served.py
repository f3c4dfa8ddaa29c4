"""A job as an aggregator program serves it: which workers contribute what here, by which port, and when a sum is
complete."""

from __future__ import annotations

from switch_nodes.jobs import JobConfig
from switch_nodes.occupancy import Occupancy
from workloads.datagrams.worker_sets import WorkerSets
from workloads.errors import InternalError

__all__ = ["ServedJob"]


class ServedJob(Occupancy):
    """Bitmaps have bit r for rank r of the job, at all levels. Contributions *from here* are those of workers at this
    switch's ports; a switch that collects also gets sums of other racks. `sequence`: of the block that is asked about,
    for programs that serve some blocks elsewhere."""

    def __init__(self, config: JobConfig) -> None:
        Occupancy.__init__(self)
        if config.server is None:
            raise InternalError(f"job {config.job} without a server was not refused")
        self.config, self.job, self.server = config, config.job, config.server
        members, levels = config.members, config.levels
        self.size = len(members)
        self.adds = config.adds
        self.service = int.from_bytes(config.service_ip, "big")
        self.server_address = int.from_bytes(config.server.ip, "big")
        """addresses as numbers, as those below"""
        self.ranks = {int.from_bytes(member.ip, "big"): member.rank for member in members}
        self.ports = [member.port for member in members]
        self.elements, self.first_slot = config.elements, config.first_slot
        self.op = 1 if config.arithmetic.dtype == "int32sat" else 0
        self.last_slot = config.first_slot + config.slots - 1
        racks = (tuple(range(self.size)),) if levels is None else levels.racks
        sets = WorkerSets(len(members), racks)
        self.sets, self.is_wide, self.bits, self.everyone = sets, sets.is_wide, sets.bits, sets.everybody
        self.rack_masks = sets.rack_masks
        own = racks[0] if levels is None else () if levels.own is None else racks[levels.own]
        self.other_racks = tuple([mask for mask, rack in zip(self.rack_masks, racks, strict=True) if rack != own])
        sizes = {rank: len(rack) for rack in racks for rank in rack}
        self.fan_in0 = [sizes[rank] for rank in range(self.size)]
        """workers of a rank's rack"""
        self.fan_in1 = 0 if levels is None else len(racks)
        self.collects = levels is None or levels.collects
        """sums of the whole job are completed here"""
        self.own_rack = None if levels is None else levels.own
        self.here = tuple([members[rank] for rank in own])
        self.ranks_here = frozenset(own)
        self._is_here = [rank in self.ranks_here for rank in range(self.size)]
        self.ports_here = frozenset([member.port for member in self.here])
        self.heads = tuple([members[rack[0]] for rack in racks if rack != own]) if levels and levels.collects else ()
        """the first worker of each other rack: what is for all of a rack is sent towards it, for the rack's switch"""
        self.target = self.everyone if self.collects else sum([sets.bits[rank] for rank in own])
        self.delivered: dict[int, int] = {}
        """blocks whose results have passed, and when each first passed; for reports only"""

    def target_of(self, sequence: int) -> int:
        """The bitmap of a complete sum here."""
        return self.target

    def adds_from(self, rank: int, sequence: int) -> bool:
        """Whether packets of this worker (-1: of a switch) may be added here; else they pass."""
        return self.collects or self.is_here(rank)

    def has_results_of(self, sequence: int) -> bool:
        return True

    def comes_by(self, port: int, rank: int, sequence: int) -> bool:
        """Whether a contribution of this sender may come in by this port."""
        if self.is_here(rank):
            return self.ports[rank] == port
        return port not in self.ports_here

    def may_hold(self, port: int, rank: int, sequence: int, bitmap: int, edge: bool) -> bool:
        """Whether a contribution that came so may hold these ranks: its worker, or workers of one other rack. If it
        says so (`edge`), these are all workers of that rack."""
        if self.is_here(rank):
            return bitmap == self.bits[rank] and not edge
        within = [mask for mask in self.other_racks if not bitmap & ~mask]
        return bool(within) and (not edge or bitmap == within[0])

    def joins(self, port: int, rank: int, sequence: int, bitmap: int, edge: bool) -> bool:
        """Whether one that may come so is added: a worker of this switch, or all of a rack, which their own switch has
        added."""
        return edge or self.is_here(rank)

    def is_above(self, port: int, sequence: int) -> bool:
        """Whether results come in by this port."""
        return port == self.server.port if self.collects else port not in self.ports_here

    def is_here(self, rank: int) -> bool:
        return rank >= 0 and self._is_here[rank]

    def racks_in(self, bitmap: int) -> int:
        """Bit k for each rack k that is inside as a whole; 0 with one level."""
        if not self.fan_in1:
            return 0
        return sum([1 << number for number, mask in enumerate(self.rack_masks) if bitmap & mask == mask])
