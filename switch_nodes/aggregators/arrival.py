"""A packet of a served job, as it stands before a switch of programs `atp` and `esa`."""

from __future__ import annotations

from switch_nodes.aggregators.served import ServedJob
from workloads.datagrams.arrival import Arrival
from workloads.wire.aggregation import Datagram, DatagramFlag, decode_datagram

__all__ = ["AggregatorArrival"]

_ECN = int(DatagramFlag.ECN)


class AggregatorArrival(Arrival):
    """One object serves all packets of a program, one after the other. `Entrance` says whose it is."""

    def __init__(self) -> None:
        Arrival.__init__(self)
        self.served: ServedJob | None = None
        self.rank = -1
        """rank of its sender; -1: a server, or another switch"""
        self.port = self.block = self.wanted = 0
        """wanted: the bitmap of the complete sum of its block, here"""
        self._found: Datagram | None = None

    def meet(self, port: int, frame: bytes) -> None:
        """A frame that is sound."""
        self.read(frame)
        self.port, self.rank, self.served, self._found = port, -1, None, None
        self.block = (self.sequence - 1) & 0xFFFFFFFF

    @property
    def found(self) -> Datagram:
        """For what is done rarely."""
        if self._found is None:
            self._found = decode_datagram(self.frame)
        assert self._found is not None, "it is sound"
        return self._found

    def flags_with(self, added: int) -> int:
        """Of what it becomes."""
        flags = self.flags | added
        return flags | _ECN if self.congested else flags
