"""What the kernel is asked for is in the machine's time."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.emulated import kernel_faults
from testbed.worlds.emulated.backends import Assignment
from testbed.worlds.emulated.splices import Splices


@pytest.mark.parametrize(("dilation", "delay"), [(1, ["delay", "2us", "0.5us"]), (10, ["delay", "20us", "5us"])])
def test_a_link_delays_by_the_machines_time(monkeypatch: pytest.MonkeyPatch, dilation: int, delay: list[str]) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(kernel_faults, "Netem", lambda name, arguments: asked.append(arguments))
    monkeypatch.setattr(kernel_faults, "pass_on", lambda *names: None)
    scenario = load_scenario("ring", ["topology.link.delay=2us", "topology.link.jitter=500ns"], 1, "emulated")
    plan = make_plan(replace(scenario, dilation=dilation))
    link = plan.scenario.topology.links[0]
    splices = SimpleNamespace(inside=nullcontext, sides=lambda link, direction: ("in", "out"))
    assignments = [Assignment("", link.name, direction, "netem", "s1") for direction in ("up", "down")]
    kernel_faults.KernelFaults(plan, assignments, cast(Splices, cast(Any, splices)))
    assert asked == [delay, delay]
