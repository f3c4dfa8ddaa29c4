"""The completion time of a flow that is alone: the closed form against frames one by one, and against runs."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.plan import make_plan
from testbed.protocols.flows.figures import flow_times
from testbed.protocols.flows.plan_alone import DATA_HEADERS, alone_ns, frames_of
from testbed.scenario import parse_scenario
from tests.support.flow_runs import run_of
from topologies import LinkShape

RATES = st.sampled_from([10**8, 10**9, 4 * 10**10, 3 * 10**9])


def frame_by_frame(size: int, mtu: int, links: list[LinkShape], *, speaks_irn: bool) -> Fraction:
    """Store and forward, without any closed form."""
    count, first, middle, last = frames_of(size, mtu, speaks_irn=speaks_irn)
    frames = [last] if count == 1 else [first, *[middle] * (count - 2), last]
    free = [Fraction(0)] * len(links)
    for frame in frames:
        at = Fraction(0)
        for place, link in enumerate(links):
            at = free[place] = max(at, free[place]) + Fraction(8 * frame * 10**9, link.rate_bps)
    return free[-1] + sum(link.delay_ns for link in links)


@given(
    st.integers(1, 20_000), st.sampled_from([256, 1024]), st.lists(RATES, min_size=1, max_size=5), st.integers(0, 5000),
    st.booleans(),
)  # fmt: skip
def test_the_closed_form_is_what_frames_one_by_one_take(
    size: int, mtu: int, rates: list[int], delay: int, irn: bool
) -> None:
    links = [LinkShape(rate_bps=rate, delay_ns=delay) for rate in rates]
    assert alone_ns(size, mtu, links, speaks_irn=irn) == frame_by_frame(size, mtu, links, speaks_irn=irn)


def test_frames_have_the_headers_of_their_transport() -> None:
    assert frames_of(1, 1024, speaks_irn=False) == (1, *[DATA_HEADERS + 16 + 4 + 4] * 3)
    assert frames_of(2049, 1024, speaks_irn=False) == (3, 58 + 16 + 1024, 58 + 1024, 58 + 4 + 4)
    assert frames_of(2049, 1024, speaks_irn=True) == (3, 58 + 16 + 1024, 58 + 16 + 1024, 58 + 16 + 4 + 4)


ALONE = """
name: alone
world: simulated
topology: TOPOLOGY
switch: {program: forward}
transport: {recovery: RECOVERY}
job: {protocol: flows, pattern: incast, fan_in: 1, flow_size: SIZE, hosts: [h1, LAST]}
time_limit: 1s
"""
RACK = "{kind: rack, hosts: 2, link: {rate: 40Gbps, delay: 2us}}"
UNEQUAL = "{kind: rack, hosts: 2, link: {rate: 10Gbps, delay: 2us}, links: {h1-s1: {rate: 3Gbps}, h2-s1: {delay: 7us}}}"
TREE = "{kind: fat_tree, k: 4, link: {rate: 40Gbps, delay: 2us}}"


@pytest.mark.parametrize("recovery", ["gbn", "irn", "irn-rack"])
@pytest.mark.parametrize("size", ["1B", "1000B", "1025B", "300kB"])
@pytest.mark.parametrize(("topology", "last", "links"), [(RACK, "h2", 2), (UNEQUAL, "h2", 2), (TREE, "h16", 6)])
def test_a_run_of_one_flow_takes_the_closed_form(
    topology: str, last: str, links: int, size: str, recovery: str
) -> None:
    text = ALONE.replace("TOPOLOGY", topology).replace("LAST", last).replace("SIZE", size)
    context = run_of(make_plan(parse_scenario(text.replace("RECOVERY", recovery), "alone.yaml")))
    (found,) = flow_times(context)
    assert found.fct_ns is not None
    assert abs(found.fct_ns - found.alone_ns) < links, "whole ns"
    assert found.slowdown == pytest.approx(1, abs=1e-3)
