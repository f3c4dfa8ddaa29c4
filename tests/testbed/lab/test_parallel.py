"""Steps on many hosts: results as they come, and the failure that came first."""

from __future__ import annotations

import threading

import pytest

from testbed.lab.parallel import everywhere, require_all
from workloads.errors import LabError


def test_one_that_hangs_delays_no_other() -> None:
    others_are_told = threading.Event()

    def act(name: str) -> str:
        if name == "slow":
            assert others_are_told.wait(20.0)
        return name.upper()

    told = []
    for outcome in everywhere(act, ["slow", "a", "b"]):
        told.append(outcome.value)
        if len(told) == 2:
            others_are_told.set()
    assert set(told[:2]) == {"A", "B"}
    assert told[2] == "SLOW"


def test_the_first_failure_is_raised_with_how_many_there_were() -> None:
    first_is_out = threading.Event()

    def act(name: str) -> str:
        if name == "ok":
            return name
        if name != "h2":
            assert first_is_out.wait(20.0)
        try:
            raise LabError(name, "broke", f"output of {name}")
        finally:
            if name == "h2":
                first_is_out.set()

    with pytest.raises(LabError) as told:
        require_all(everywhere(act, ["h2"]))
    assert str(told.value) == "h2: broke\noutput of h2"
    outcomes = [*everywhere(act, ["h2"]), *everywhere(act, ["ok"]), *everywhere(act, ["h3"])]
    with pytest.raises(LabError) as told:
        require_all(outcomes)
    assert str(told.value) == "h2: broke (and 1 more: h3)\noutput of h2"
    assert require_all(everywhere(act, ["ok"])) == {"ok": "ok"}
