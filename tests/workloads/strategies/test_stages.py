from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workloads.strategies.test_frontier import CHAINS
from workloads.strategies.chain import SPLITS, Chain, Operator
from workloads.strategies.costs import Devices, price_of, ring_factor
from workloads.strategies.stages import REDUCE, stages_of

CHAIN = Chain("c", (Operator("a", 4000, 400, 8000), Operator("b", 800, 80, 4000), Operator("c", 40, 120)))


def told(strategy: tuple[str, ...], divide: int = 1) -> list[tuple[str, int, int]]:
    return [(stage.name, stage.elements, stage.compute_ns) for stage in stages_of(CHAIN, strategy, 4, divide)]


def test_transfers_stand_at_their_places() -> None:
    assert told(("DP", "MP", "MP")) == [
        ("a.reduce", 1000, 2000),
        ("b.reshard", 100, 0),
        ("b.reduce", 20, 1000),
        ("c.reduce", 30, 0),
    ]
    assert [name for name, _, _ in told(("MP", "DP", "MP"))] == [
        "a.reduce", "b.reshard", "b.reduce", "c.reshard", "c.reduce",
    ]  # fmt: skip


def test_vectors_are_divided_but_every_device_has_an_element() -> None:
    assert told(("DP", "MP", "MP"), 10) == [
        ("a.reduce", 100, 2000),
        ("b.reshard", 10, 0),
        ("b.reduce", 4, 1000),
        ("c.reduce", 4, 0),
    ]


@given(CHAINS, st.data())
def test_they_send_what_the_price_says(chain: Chain, data: st.DataObject) -> None:
    strategy = tuple(data.draw(st.sampled_from(SPLITS)) for _ in chain.operators)
    devices = data.draw(st.integers(2, 8))
    larger = Chain("", tuple(Operator(o.name, 32 * o.weights_bytes, 32 * o.activations_bytes) for o in chain.operators))
    sent = sum(
        4 * stage.elements * (ring_factor(devices) if stage.kind == REDUCE else (devices - 1) / devices)
        for stage in stages_of(larger, strategy, devices)
    )
    assert sent == pytest.approx(price_of(larger, strategy, Devices(devices, 1.0)).sent_bytes)
