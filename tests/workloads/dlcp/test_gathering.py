"""What a server has of the gradients of one iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.dlcp_star import host_config
from workloads.datagrams.arrival import Arrival
from workloads.dlcp.gathering import PartGathering, RowGathering

FLOAT = np.dtype(np.float32)


def part(bitmap: int, packet: int, *elements: float) -> Arrival:
    found = Arrival()
    found.bitmap, found.sequence, found.count = bitmap, packet + 1, len(elements)
    found.frame = np.array(elements, ">f4").tobytes()
    return found


def config(**changes: Any) -> Any:
    """Three ranks, the last one the server; 10 packets of 4."""
    return host_config(2, 3, **{"loss_bound": 0.5, **changes})


def test_rows_count_once_and_until_their_flow_is_closed() -> None:
    rows = RowGathering(config(), FLOAT)
    assert rows.take(part(0b01, 0, 1, 1, 1, 1)) == ()
    assert rows.take(part(0b01, 0, 9, 9, 9, 9)) is None
    for packet in (2, 4, 6):
        assert rows.take(part(0b01, packet, 1, 1, 1, 1)) == ()
    assert rows.take(part(0b01, 8, 1, 1, 1, 1)) == (0,), "the fifth of ten"
    assert rows.take(part(0b01, 9, 1, 1, 1, 1)) is None
    assert not rows.has_enough()
    for packet in range(5):
        rows.take(part(0b10, packet, 0.5, 0, 0, 0))
    assert rows.has_enough()
    assert rows.entered()[0] == (1, 1, 1)
    assert rows.entered()[9] == (0, 0, 1)
    total = rows.total(np.full(40, 10, np.float32))
    assert total[:8].tolist() == [11.5, 11, 11, 11, 10.5, 10, 10, 10]
    assert total[36:].tolist() == [10] * 4
    assert list(rows.parts()) == []


def test_a_part_counts_as_a_whole_or_not_at_all() -> None:
    parts = PartGathering(config(), FLOAT)
    assert parts.take(part(0b01, 0, 1, 1, 1, 1)) == ()
    assert parts.take(part(0b11, 0, 3, 3, 3, 3)) is None, "rank 0 is inside"
    assert not parts.flows[1].has(0)
    assert parts.take(part(0b10, 0, 2, 2, 2, 2)) == ()
    assert parts.entered()[0] == (1, 1, 1)
    assert next(iter(parts.parts())) == (0b01, 0b10, 0b100)


def test_a_closed_flow_takes_more_with_one_that_is_not() -> None:
    parts = PartGathering(config(), FLOAT)
    for packet in range(5):
        parts.take(part(0b01, packet, 1, 1, 1, 1))
    assert parts.flows[0].closed
    assert parts.take(part(0b01, 5, 1, 1, 1, 1)) is None, "nobody needs it"
    assert parts.take(part(0b11, 5, 2, 2, 2, 2)) == ()
    assert parts.flows[0].counted == 6
    assert parts.entered()[5] == (1, 1, 1)


def test_parts_are_added_by_their_lowest_ranks_whatever_the_order() -> None:
    """(1e8 + -1e8) + 1 is 1; 1e8 + (-1e8 + 1) is 0."""
    found = []
    for order in ((0b001, 0b110), (0b110, 0b001)):
        parts = PartGathering(host_config(3, 4), FLOAT)
        for bitmap in order:
            parts.take(part(bitmap, 0, *[1e8 if bitmap == 1 else -1e8] * 4))
        found.append(parts.total(np.ones(40, np.float32))[:4].tolist())
    assert found == [[1.0] * 4] * 2


def test_what_nobody_sent_is_the_servers_own() -> None:
    assert (
        PartGathering(config(), FLOAT).total(np.full(40, -0.0, np.float32)).tobytes()
        == np.full(40, -0.0, np.float32).tobytes()
    )
