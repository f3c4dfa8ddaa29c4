"""The connection table of one ring: it maps PSNs of connections to messages.

Only the FIRST packet of a message has an INA header. The table finds message and offset of the others (a Connection
Lookup Table that links by sequence number: ASPLOS'23, p. 6 and 13). It keeps the newest 2N+1 messages of each
connection, matched by signed 24-bit distance; that, and rules B and I, are decided here (`docs/netreduce.md`).
"""

from __future__ import annotations

from switch_nodes.netreduce.ring import Ring
from workloads.rc.transport import RELIABLE

__all__ = ["RingConnections"]

_after, _distance = RELIABLE.after, RELIABLE.distance

_NONE = -1


class RingConnections:
    """Works on the connection arrays of a `Ring`; connection k carries the packets of rank k."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.entries = ring.entry_message.shape[1]

    def is_known(self, rank: int, qpn: int) -> bool:
        return int(self.ring.qpn[rank]) == qpn

    def claim(self, rank: int, qpn: int) -> None:
        """`qpn` carries INA messages of `rank` from now on. Another QPN that did so before is forgotten."""
        ring = self.ring
        if ring.qpn[rank] == qpn:
            return
        ring.qpn[rank] = qpn
        ring.newest[rank] = ring.plain_from[rank] = ring.plain_to[rank] = ring.expected[rank] = _NONE
        ring.entry_message[rank] = _NONE

    def agrees(self, rank: int, qpn: int, message: int, psn: int, packets: int) -> bool:
        """Whether a FIRST with this PSN and length fits what is known. The same message had the same values before.
        Messages follow each other without a gap (rule I), and all ranks announce the same length."""
        ring = self.ring
        if ring.packets_of(message) not in (0, packets):
            return False
        if not self.is_known(rank, qpn):
            return True
        newest = int(ring.newest[rank])
        same, before, after, last = (self._entry(rank, m) for m in (message, message - 1, message + 1, newest))
        if last is not None and (_distance(psn, last[0]) > 0) != (message > newest):
            return False
        gaps_allowed = ring.plain_from[rank] != _NONE
        before = before if message and ring.is_next(message - 1) else None
        after = after if ring.is_next(message) else None
        return (
            same in (None, (psn, packets))
            and (before is None or gaps_allowed or _after(*before) == psn)
            and (after is None or gaps_allowed or _after(psn, packets) == after[0])
        )

    def has(self, rank: int, message: int) -> bool:
        """Whether the message is noted."""
        return self._entry(rank, message) is not None

    def put(self, rank: int, message: int, psn: int, packets: int) -> None:
        """Note a message; one that is older than what its place in the table holds is not noted."""
        ring, index = self.ring, message % self.entries
        if ring.entry_message[rank, index] >= message:
            return
        ring.entry_message[rank, index] = message
        ring.entry_id[rank, index] = ring.message_id(message)
        ring.entry_psn[rank, index] = psn
        ring.entry_length[rank, index] = packets
        if message > ring.newest[rank]:
            ring.newest[rank] = message
            if ring.plain_from[rank] != _NONE and ring.plain_to[rank] == _NONE:
                ring.plain_to[rank] = psn

    def match(self, rank: int, psn: int) -> tuple[int, int, int] | None:
        """(message, offset, packets of the message) of a PSN that lies in a noted message."""
        ring = self.ring
        for message, first, packets in zip(
            ring.entry_message[rank].tolist(),
            ring.entry_psn[rank].tolist(),
            ring.entry_length[rank].tolist(),
            strict=True,
        ):
            if message != _NONE and 0 <= _distance(psn, first) < packets:
                return message, _distance(psn, first), packets
        return None

    def infer(self, rank: int, psn: int) -> tuple[int, int, int] | None:
        """(message, offset, packets of the message) of a PSN in the message right after the newest, when another rank
        announced how long that one is. Its own length does not matter, so a short last message of a collective does no
        harm."""
        newest = int(self.ring.newest[rank])
        entry = self._entry(rank, newest)
        if entry is None or self.ring.plain_from[rank] != _NONE:
            return None
        offset, packets = _distance(psn, _after(*entry)), self.ring.packets_of(newest + 1)
        return (newest + 1, offset, packets) if 0 <= offset < packets else None

    def start_plain(self, rank: int, psn: int) -> None:
        """A FIRST or ONLY without INA header on an INA connection: what follows is not ours until the next INA
        FIRST."""
        if not self.in_plain(rank, psn):
            self.ring.plain_from[rank], self.ring.plain_to[rank] = psn, _NONE

    def in_plain(self, rank: int, psn: int) -> bool:
        start, end = int(self.ring.plain_from[rank]), int(self.ring.plain_to[rank])
        return start != _NONE and _distance(psn, start) >= 0 and (end == _NONE or _distance(psn, end) < 0)

    def _entry(self, rank: int, message: int) -> tuple[int, int] | None:
        """(first PSN, packets)"""
        index = message % self.entries
        if message < 0 or self.ring.entry_message[rank, index] != message:
            return None
        return int(self.ring.entry_psn[rank, index]), int(self.ring.entry_length[rank, index])
