"""The cables of an emulated lab do to frames what the links of the other worlds do."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.lab.emulated.cables import Cables, cables_of, cables_text
from testbed.plan import make_plan
from testbed.plan.filters import make_filters
from testbed.scenario import load_scenario


def test_the_filters_are_those_of_the_scenario(tmp_path: Path) -> None:
    plan = make_plan(load_scenario("rack-lossy", ("faults[0].rate=30%",), 4, "lab"))
    path = tmp_path / "cables"
    path.write_text(cables_text(plan.scenario, 7))
    found = cables_of(path)
    ingress, egress = make_filters(plan, "s1")
    assert found.dilation == 7
    frames = [f"frame {number}".encode().ljust(64) for number in range(200)]
    for ours, theirs in ((found.ingress, ingress), (found.egress, egress)):
        assert ours.keys() == theirs.keys() == {0, 1, 2, 3}
        for port, one in ours.items():
            fates = [one.admit(frame, 5) for frame in frames]
            assert fates == [theirs[port].admit(frame, 5) for frame in frames]
            assert 20 < fates.count(()) < 120


def test_without_a_file_they_lose_nothing(tmp_path: Path) -> None:
    assert cables_of(tmp_path / "cables") == Cables()


@pytest.mark.parametrize("text", ["[]", '{"scenario": ""}', "{"])
def test_another_text_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cables"
    path.write_text(text)
    with pytest.raises(ValueError):  # noqa: PT011
        cables_of(path)
