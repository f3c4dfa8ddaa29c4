"""NetReduce on the compiled path of the loop, frame by frame: only that very program, and with the same history."""

from __future__ import annotations

from typing import Any

import pytest

from switch_nodes.netreduce import NetReduceProgram
from switch_nodes.queued import Queued
from testbed.faults.model import Loss
from testbed.worlds.simulated.world import Simulation
from tests.support.simulation import of, rack_links, rack_plan
from workloads.events import Retransmission
from workloads.quick import quick_of


class Plain(NetReduceProgram):
    """The same program; a loop cannot know that."""


class Counts(NetReduceProgram):
    def frames_to_send(self, now: int) -> Any:
        for port, frame in super().frames_to_send(now):
            self.count("given")
            yield port, frame


@pytest.mark.parametrize(("kind", "is_quick"), [(NetReduceProgram, True), (Plain, False), (Counts, False)])
def test_a_subclass_goes_by_its_verbs(kind: type[NetReduceProgram], is_quick: bool) -> None:
    config = rack_plan(3).switches[0]
    assert (type(quick_of(kind(config))) is Queued) == is_quick


def test_both_ways_tell_one_history() -> None:
    plan = rack_plan(3, faults=(Loss("loss", rack_links(3), rate=0.05),), job={"size_bytes": 60_000})
    histories = []
    for kind in (NetReduceProgram, Plain):
        records: list[Any] = []
        Simulation(plan, records.append, create=kind, native=False).run()
        histories.append(records)
    assert histories[0] == histories[1]
    assert of(histories[0], Retransmission)
