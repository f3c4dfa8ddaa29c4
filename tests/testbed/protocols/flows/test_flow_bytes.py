"""The check of the bytes of flows, on a run and on histories that were tampered with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.checkers.context import CheckContext
from testbed.history import Record
from testbed.history.verdict import Verdict
from testbed.protocols.flows.flow_bytes import flow_bytes
from tests.support.flow_runs import run_text
from workloads.flows.events import FlowArrived

TEXT = """
name: few
world: simulated
topology: {kind: rack, hosts: 4, link: {rate: 10Gbps, delay: 2us}}
switch: {program: forward}
job: {protocol: flows, pattern: permutation, flow_size: 3000B}
time_limit: 1s
"""


@pytest.fixture(scope="module")
def context() -> CheckContext:
    return run_text(TEXT)


def tampered(context: CheckContext, **changes: object) -> CheckContext:
    """The first arrival with other fields."""
    history: list[Record] = list(context.history)
    place = next(index for index, record in enumerate(history) if isinstance(record.event, FlowArrived))
    node = changes.pop("node", history[place].node)
    history[place] = replace(history[place], node=node, event=replace(history[place].event, **changes))
    return CheckContext(context.plan, history)


def test_a_run_passes(context: CheckContext) -> None:
    assert flow_bytes(context).verdict is Verdict.PASS
    assert flow_bytes(context).detail == "4 flows brought what their senders were given"


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"sha256": "0" * 64}, "brought other bytes to"),
        ({"bytes": 2999}, "brought 2999 bytes of 3000"),
        ({"node": "h9"}, "ended at h9, and its receiver is"),
        ({"flow": 99}, "flow 99 ended at"),
    ],
)  # fmt: skip
def test_what_is_wrong_fails(context: CheckContext, changes: dict[str, object], detail: str) -> None:
    found = flow_bytes(tampered(context, **changes))
    assert found.verdict is Verdict.FAIL
    assert detail in found.detail


def test_a_flow_that_ends_twice_fails(context: CheckContext) -> None:
    twice = [*context.history, *(record for record in context.history if isinstance(record.event, FlowArrived))]
    found = flow_bytes(CheckContext(context.plan, twice))
    assert found.verdict is Verdict.FAIL
    assert "ended 2 times" in found.detail


def test_flows_without_an_end_are_counted(context: CheckContext) -> None:
    arrivals = [record for record in context.history if isinstance(record.event, FlowArrived)]
    rest = [record for record in context.history if record not in arrivals[1:]]
    assert flow_bytes(CheckContext(context.plan, rest)).detail.endswith("; 3 more began and did not end")
    none = [record for record in context.history if record not in arrivals]
    assert flow_bytes(CheckContext(context.plan, none)).verdict is Verdict.UNKNOWN
