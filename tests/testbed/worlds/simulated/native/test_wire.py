"""The compiled wire against the reference: links that mark, and links that know classes."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.history.events import QueueDropped, ShapingMeasured
from testbed.plan import make_plan
from testbed.scenario.model import BackgroundFlow
from testbed.worlds.simulated.native import choose_parts
from testbed.worlds.simulated.native.agenda import NativeAgenda
from testbed.worlds.simulated.native.wire import NativeWire
from testbed.worlds.simulated.wire import Wire
from tests.support.agendas import agendas
from tests.support.both_loops import same
from tests.support.native import needs_native
from tests.support.simulation import of, rack_plan
from topologies import LinkShape, rack
from workloads.wire import Envelope
from workloads.wire.envelope import encode_envelope

needs_c = needs_native("simulator")
CLASSES = st.fixed_dictionaries(
    {
        "queue_packets": st.integers(2, 6),
        "priority": st.sampled_from(["none", "layers"]),
        "drop_low_above_packets": st.sampled_from([None, 1]),
        "ecn_threshold_packets": st.sampled_from([None, 1]),
    }
)


@needs_c
@pytest.mark.parametrize("protocol", ["netreduce", "ring", "shift"])
@pytest.mark.parametrize("tap", [False, True])
def test_links_that_mark(protocol: str, tap: bool) -> None:
    slow = LinkShape(rate_bps=40_000_000, queue_packets=12, ecn_threshold_packets=3)
    plan = rack_plan(
        4, transport={"timeout_code": 12}, topology=rack(4, LinkShape(ecn_threshold_packets=5), {"h2-s1": slow}),
        job={"size_bytes": 60_000, "protocol": protocol, "message_packets": 8, "hosts": ("h1", "h2", "h3")},
    )  # fmt: skip
    flow = BackgroundFlow("tenant", "udp", "h4", "h2", 30_000_000)
    plan = make_plan(replace(plan.scenario, background=(flow,)))
    assert type(choose_parts(plan).agenda) is NativeAgenda
    reference = same(plan, tap=tap)
    assert sum(record.event.marks for record in of(reference["records"], ShapingMeasured)) > 5


@needs_c
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("tap", [False, True])
def test_links_that_know_classes(seed: int, tap: bool) -> None:
    """Background flows of all classes over one full link, beside the job, which is of none."""
    dice = Random(seed)
    shape = LinkShape(
        rate_bps=40_000_000, queue_packets=dice.choice([4, 12, 40]), priority=dice.choice(["none", "layers"]),
        drop_low_above_packets=dice.choice([None, 1, 3]), ecn_threshold_packets=dice.choice([None, 2]),
    )  # fmt: skip
    plan = rack_plan(
        4, transport={"timeout_code": 12}, topology=rack(4, LinkShape(), {"h2-s1": shape}),
        job={"size_bytes": 60_000, "protocol": dice.choice(["netreduce", "ring"]), "message_packets": 8,
             "hosts": ("h1", "h2", "h3")},
    )  # fmt: skip
    flows = tuple(
        BackgroundFlow(f"of-{dscp}", "udp", "h4", "h2", 8_000_000, dscp=dscp, ecn=dice.random() < 0.5)
        for dscp in (*dice.sample(range(8, 16), 4), 46)
    )
    plan = make_plan(replace(plan.scenario, background=flows))
    assert type(choose_parts(plan).agenda) is NativeAgenda
    told = of(same(plan, tap=tap)["records"], QueueDropped)
    assert bool(told) == shape.knows_classes
    assert any(record.event.early for record in told) == (shape.drop_low_above_packets is not None)


@needs_c
@given(frames=st.lists(st.tuples(st.integers(0, 63), st.booleans()), max_size=60), keys=CLASSES)
def test_both_wires_take_the_same_frames(frames: list[tuple[int, bool]], keys: dict[str, Any]) -> None:
    """(DSCP, whether IPv6), one behind the other."""
    reference, native = agendas(1)
    assert isinstance(native, NativeAgenda)
    shape, outcomes = LinkShape(8_000_000, mtu=200, **keys), []
    for wire in (Wire(reference, 0, shape), NativeWire(native, 0, shape)):
        fates = []
        for dscp, is_v6 in frames:
            addresses = (bytes(16), bytes(16)) if is_v6 else (bytes(4), bytes(4))
            frame = encode_envelope(Envelope(bytes(6), bytes(6), *addresses, tos=dscp << 2 | 2), 20) + bytes(20)
            fates.append((wire.send(frame), wire.waiting, wire.waiting_with(frame)))
        outcomes.append((fates, wire.early, wire.drops, wire.marks, wire.frames))
    assert outcomes[0] == outcomes[1]
