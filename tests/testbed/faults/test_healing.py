from __future__ import annotations

import pytest

from testbed.faults import model
from testbed.faults.healing import heals_at, is_active, kind_of
from testbed.faults.kinds import FAULT_KINDS
from testbed.faults.model import Fault, Kill, LinkDown, Loss, Pause, RateChange, Window


@pytest.mark.parametrize(
    ("fault", "at"),
    [
        (Loss("f"), None),
        (Loss("f", window=Window(3, 9)), 9),
        (RateChange("f", window=Window(3, 9)), 9),
        (Kill("f", "s1", Window(3)), None),
        (Pause("f", "s1", Window(3, 9)), 9),
        (LinkDown("f", window=Window(3, 9)), 9),
        (LinkDown("f", window=Window(3, 9), count=4, period_ns=20), 69),
        (LinkDown("f", window=Window(3), count=4, period_ns=20), None),
    ],
)
def test_heals_at(fault: Fault, at: int | None) -> None:
    assert heals_at(fault) == at
    if at is not None:
        assert is_active(fault, at - 1)
        assert not is_active(fault, at)
        assert not is_active(fault, at + 1000)


def test_flaps_longer_than_their_period_stay_down() -> None:
    fault = LinkDown("f", window=Window(0, 30), count=3, period_ns=10)
    assert [now for now in range(60) if is_active(fault, now)] == list(range(50))


def test_every_kind_says_how_it_heals() -> None:
    kinds = [getattr(model, name) for name in model.__all__]
    concrete = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Fault)]
    concrete = [kind for kind in concrete if kind not in (Fault, model.LinkFault, model.PacketFault, model.NodeFault)]
    assert sorted(kind_of(kind("f")) for kind in concrete) == sorted(FAULT_KINDS)


def test_a_fault_without_a_window_is_none_of_ours() -> None:
    with pytest.raises(TypeError, match=r"^Fault has no window$"):
        heals_at(Fault("f"))
