"""The hardware as the program of a switch: the events of the reference, in its order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.events import SwitchStatistics
from switch_nodes.fpga.rtl.program import RtlSwitch
from switch_nodes.fpga.rtl.simulation.library import SimulatedCard
from switch_nodes.netreduce.program import NetReduceProgram
from switch_nodes.registry import program_names


def _told(machine):
    events = []
    while (event := machine.next_event()) is not None:
        events.append(event)
    return events


def _played(machine, inputs):
    """(frames, events) after each input, and the events at the end."""
    steps = []
    for item in inputs:
        machine.receive_frame(item.port, item.frame, item.time_ns)
        frames = sorted((port, bytes(frame)) for port, frame in machine.frames_to_send(item.time_ns))
        steps.append((frames, _told(machine)))
    machine.finish(0)
    return steps, [event for event in _told(machine) if not isinstance(event, SwitchStatistics)]


@pytest.mark.parametrize(
    ("name", "seed"), [("rack-lossy", None), ("rack-lossy", 6), ("psn-wrap", 14), ("ecn-marked", 8), ("rack-int32", 2)]
)
def test_its_events_are_those_of_the_reference(library, trace, name, seed):
    config, inputs = trace(name, mutate=seed)
    hardware = RtlSwitch(config, SimulatedCard(library, bitstream_hash=bytes(range(32))))
    reference = NetReduceProgram(replace(config, program="netreduce"))
    assert _played(hardware, inputs) == _played(reference, inputs)
    assert hardware.cycles > 100 * len(inputs)


def test_it_is_a_program_by_name():
    assert "rtl" in program_names()
