from __future__ import annotations

import pytest

from workloads.errors import ScenarioError
from workloads.strategies.chain import Chain, Operator
from workloads.strategies.costs import Devices, Price, price_of

# Protocol text, routing and jobs, section 7: example two_op.
TWO = Chain("two_op", (Operator("a", 100, 10, 1_000_000_000), Operator("b", 10, 400, 1_000_000_000)))
TABLE = {
    ("MP", "MP"): (55, 5.10),
    ("MP", "DP"): (60, 1.25),
    ("DP", "MP"): (105, 6.05),
    ("DP", "DP"): (110, 2.10),
}


@pytest.mark.parametrize("strategy", TABLE)
def test_the_table_of_the_text(strategy: tuple[str, ...]) -> None:
    price = price_of(TWO, strategy, Devices(2, 100))
    assert (price.memory_bytes, price.time_s) == pytest.approx(TABLE[strategy])


def test_a_switch_that_sums_saves_the_second_way() -> None:
    """Of four devices: a ring sends 1.5 vectors, to a switch goes one; reshards stay as they are."""
    ring, switch = (price_of(TWO, ("MP", "DP"), Devices(4, 100, factor)) for factor in (None, 1.0))
    assert ring.sent_bytes == pytest.approx(1.5 * (10 + 10) + 0.75 * 10)
    assert switch.sent_bytes == pytest.approx(10 + 10 + 0.75 * 10)


@pytest.mark.parametrize(
    ("one", "other", "better"),
    [
        ((1, 2), (1, 3), True),
        ((1, 2), (2, 2), True),
        ((1, 2), (1, 2), False),
        ((1, 3), (2, 2), False),
        ((2, 2), (1, 2), False),
    ],
)
def test_who_dominates(one: tuple[int, int], other: tuple[int, int], better: bool) -> None:
    assert Price(*one, 0).dominates(Price(*other, 0)) == better


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Devices(1, 1), "devices: no other device to share with; found 1; allowed: at least 2"),
        (lambda: Devices(2, 0), "bandwidth: not a bandwidth; found 0; allowed: above 0"),
        (
            lambda: price_of(TWO, ("DP",), Devices(2, 1)),
            "strategy: not a strategy of this chain; found 1 operators; allowed: 2",
        ),
    ],
)
def test_what_is_refused(make, text):  # type: ignore[no-untyped-def]
    with pytest.raises(ScenarioError, match=text):
        make()
