"""Jobs that come with parts of the memory, and go."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.events import SwitchStatistics
from switch_nodes.program import LetsJobsGo
from switch_nodes.serving import ServingProgram
from workloads.datagrams.blocks import MemoryAtEnd
from workloads.machine import Event


@dataclass
class Part:
    job: int
    occupied: int


class Program(ServingProgram[Part]):
    def __init__(self) -> None:
        super().__init__(SwitchConfig("s1", "forward", 2))
        self.served = {7: Part(7, 3), 9: Part(9, 1)}

    def tell_end(self, served: Part) -> None:
        self.tell(MemoryAtEnd(served.job, 0, 4, served.occupied, 4, 4, 0))


def drain(program: Program) -> list[Event]:
    return list(iter(program.next_event, None))


@pytest.fixture
def program() -> Program:
    return Program()


def test_a_job_departs_once_and_its_memory_is_told(program):
    assert isinstance(program, LetsJobsGo)
    assert program.slots_in_use == 4
    assert program.depart(7)
    assert not program.depart(7)
    assert (list(program.serving), program.slots_in_use) == ([9], 1)
    assert [event.job for event in drain(program)] == [7]


def test_what_is_left_is_told_when_the_switch_stops(program):
    program.depart(9)
    drain(program)
    program.finish(0)
    told = drain(program)
    assert [type(event) for event in told] == [MemoryAtEnd, SwitchStatistics]
    assert told[0].job == 7
