"""Who is who in a history: hosts in ring order, the two queue pairs of each, the connections between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from switch_nodes.events import ConnectionStepped, MessageAggregated
from testbed.history import Record, of_kinds
from testbed.history.events import NodeStarted
from workloads.events import (
    MessagePosted,
    NakSent,
    QpFailed,
    QpStepped,
    RcStatistics,
    Retransmission,
    RnrNakSent,
    TrimmedCame,
)

__all__ = ["Names", "find_names"]

_TELLING = (
    NodeStarted, RcStatistics, Retransmission, NakSent, RnrNakSent, TrimmedCame, QpFailed, QpStepped, ConnectionStepped,
    MessagePosted, MessageAggregated,
)  # fmt: skip
_OWN_FAULT = "LOC_"
"""QpFailed.status of a responder begins so"""


@dataclass(frozen=True, slots=True)
class Names:
    hosts: tuple[str, ...]
    """hosts in ring order: host k sends to host k+1"""
    switches: tuple[str, ...]
    qpn: dict[tuple[str, str], int]
    """(host, "to" or "from") -> QPN, as far as the history has it"""
    owner: dict[int, tuple[str, str]]
    """the inverse"""

    def neighbour(self, host: str, steps: int) -> str:
        return self.hosts[(self.hosts.index(host) + steps) % len(self.hosts)]


def find_names(history: Sequence[Record]) -> Names:
    """Rings follow the order of the host names (h1, h2, .. h10), unless a trace shows the ranks."""
    roles: dict[str, str] = {}
    statistics: dict[str, list[int]] = {}
    qpn: dict[tuple[str, str], int] = {}
    ranks: dict[int, int] = {}
    for record in of_kinds(history, *_TELLING):
        event = record.event
        if isinstance(event, NodeStarted):
            roles[record.node] = event.role
        elif isinstance(event, RcStatistics):
            known = statistics.setdefault(record.node, [])
            if event.qpn not in known:
                known.append(event.qpn)
        elif isinstance(event, Retransmission):
            qpn.setdefault((record.node, "to"), event.qpn)
        elif isinstance(event, NakSent | RnrNakSent | TrimmedCame):
            qpn.setdefault((record.node, "from"), event.qpn)
        elif isinstance(event, QpFailed):
            side = "from" if event.status.startswith(_OWN_FAULT) else "to"
            qpn.setdefault((record.node, side), event.qpn)
        elif isinstance(event, QpStepped):
            qpn.setdefault((record.node, "to" if event.side == "requester" else "from"), event.qpn)
        elif isinstance(event, ConnectionStepped) and event.knows_rank:
            ranks[event.qpn] = event.rank
        elif isinstance(event, MessagePosted):
            roles.setdefault(record.node, "host")
        elif isinstance(event, MessageAggregated):
            roles.setdefault(record.node, "switch")
    for host, numbers in statistics.items():  # told in this order
        for side, number in zip(("to", "from"), numbers, strict=False):
            qpn[host, side] = number
    hosts = sorted((name for name, role in roles.items() if role == "host"), key=_natural)
    by_rank = {(ranks[number] + 1) % len(hosts): host for (host, side), number in qpn.items() if number in ranks}
    if len(by_rank) == len(hosts):
        hosts = [by_rank[rank] for rank in sorted(by_rank)]
    switches = sorted((name for name, role in roles.items() if role != "host"), key=_natural)
    return Names(tuple(hosts), tuple(switches), qpn, {number: who for who, number in qpn.items()})


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
