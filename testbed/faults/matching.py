"""Whether a packet is one of those that a fault's Match means."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

from testbed.faults.connections import Connection, Flow
from testbed.faults.identity import NOT_ROCE, Identity
from testbed.faults.model import Match
from workloads.rc.numbers import offset_of, psn_of
from workloads.rc.words import ACK_OPCODES, ends_message, starts_message
from workloads.transports import SentAs

__all__ = ["ConnectionTable", "matches"]


class ConnectionTable:
    """The planned connections by the flow of their requests and of their answers."""

    def __init__(self, connections: Iterable[Connection]) -> None:
        self._by_flow: dict[Flow, Connection] = {}
        self._starts: dict[Flow, list[int]] = {}
        for connection in connections:
            starts = [0, *accumulate(connection.message_packets)]
            for flow in (connection.requests, connection.answers):
                self._by_flow[flow] = connection
                self._starts[flow] = starts

    def __iter__(self) -> Iterator[tuple[Flow, Connection]]:
        return iter(self._by_flow.items())

    def connection(self, flow: Flow | None) -> Connection | None:
        return None if flow is None else self._by_flow.get(flow)

    def place(self, flow: Flow, offset: int) -> tuple[int, int, int] | None:
        """(message, packet in it, packets of it) at `offset` PSNs from the connection's first; None where the plan
        ends."""
        starts = self._starts[flow]
        message = bisect_right(starts, offset) - 1
        if message < 0 or message + 1 >= len(starts):
            return None
        return message, offset - starts[message], starts[message + 1] - starts[message]


def matches(
    match: Match, identity: Identity, occurrence: int, table: ConnectionTable, sent: SentAs | None = None
) -> bool:
    """Every condition that is set must hold. A frame that is not RoCE matches the Match without conditions; one of
    another transport also matches by kind, sequence and attempt. A frame of a connection that is not planned matches
    none that asks for offset, message, packet or rank. `sent`: what the frame says of itself, of another transport."""
    if identity.opcode == NOT_ROCE:
        return match == _ANY or (identity.transport is not None and _means_datagram(match, sent, occurrence))
    if match.kind is not None or match.sequence is not None:
        return False
    if match.opcodes is not None and identity.opcode not in match.opcodes:
        return False
    if match.syndrome is not None and not (identity.opcode == _ACKNOWLEDGE and identity.syndrome == match.syndrome):
        return False
    if match.attempt is not None and occurrence != match.attempt:
        return False
    if match.source_rank is None and match.psn_offset is None and match.message is None and match.packet is None:
        return True
    connection = table.connection(identity.addresses)
    if connection is None or identity.addresses is None:
        return False
    if match.source_rank is not None and connection.rank != match.source_rank:
        return False
    offset = offset_of(identity.psn, connection.first_psn)
    if match.psn_offset is not None and offset != psn_of(match.psn_offset):
        return False
    if match.message is None and match.packet is None:
        return True
    return _is_placed(match, identity, table.place(identity.addresses, offset))


def _means_datagram(match: Match, sent: SentAs | None, occurrence: int) -> bool:
    """Whether it asks for nothing that only RoCE packets have, and for this packet."""
    if match.attempt not in (None, occurrence):
        return False
    if match != Match(attempt=match.attempt, kind=match.kind, sequence=match.sequence):
        return False
    if match.kind is None and match.sequence is None:
        return True
    return sent is not None and match.kind in (None, sent.kind) and match.sequence in (None, sent.sequence)


def _is_placed(match: Match, identity: Identity, place: tuple[int, int, int] | None) -> bool:
    if place is None:
        return match.message is None and _ends_show(match, identity)
    message, packet, packets = place
    if match.message is not None and message != match.message:
        return False
    return match.packet is None or packet == (packets - 1 if match.packet == -1 else match.packet)


def _ends_show(match: Match, identity: Identity) -> bool:
    """Beyond the plan the opcode of a request still shows the first and the last packet of a message."""
    if match.packet == 0:
        return starts_message(identity.opcode)
    return match.packet == -1 and ends_message(identity.opcode)


_ANY = Match()
(_ACKNOWLEDGE,) = ACK_OPCODES
