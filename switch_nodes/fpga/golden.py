"""The golden-trace harness: frames in, frames out, byte for byte those of the reference program (`NetReduceProgram`),
or the first frame that is not.

Frames of one port are compared in order; nothing is said about the order between ports, which no cable keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from switch_nodes.config import SwitchConfig
from switch_nodes.fpga.dissect import FieldDifference, differing_fields, dissect
from switch_nodes.netreduce.program import NetReduceProgram
from workloads.machine import Machine
from workloads.rc.transport import RELIABLE

__all__ = ["Difference", "Kind", "Output", "TimedFrame", "compare", "describe", "play", "reference_outputs", "sums_in"]

_MOST_FIELDS = 12


@dataclass(frozen=True, slots=True)
class TimedFrame:
    """A frame that goes into the card."""

    port: int
    time_ns: int
    frame: bytes


@dataclass(frozen=True, slots=True)
class Output:
    """A frame that came out."""

    step: int
    """index of the newest input when it did"""
    port: int
    frame: bytes


class Kind(StrEnum):
    DIFFERS = "differs"
    MISSING = "is missing"
    EXTRA = "should not be there"


@dataclass(frozen=True, slots=True)
class Difference:
    """The first one."""

    kind: Kind
    port: int
    index: int
    """number of the frame, among those of its port"""
    step: int
    expected: bytes
    """empty for EXTRA"""
    found: bytes
    """empty for MISSING"""

    @property
    def fields(self) -> list[FieldDifference]:
        return differing_fields(self.expected, self.found) if self.kind is Kind.DIFFERS else []


def play(machine: Machine, inputs: Iterable[TimedFrame]) -> list[Output]:
    """All that a Machine emits, frame by frame, with the times of the trace; its events are thrown away."""
    outputs: list[Output] = []
    for step, item in enumerate(inputs):
        while (timer := machine.get_timer()) is not None and timer <= item.time_ns:
            machine.handle_timer(timer)
        machine.receive_frame(item.port, item.frame, item.time_ns)
        outputs += (Output(step, port, bytes(frame)) for port, frame in machine.frames_to_send(item.time_ns))
        while machine.next_event() is not None:
            pass
    return outputs


def reference_outputs(config: SwitchConfig, inputs: Iterable[TimedFrame]) -> list[Output]:
    """What a card must emit. Raises ScenarioError for a configuration that cannot be installed."""
    return play(NetReduceProgram(replace(config, program="netreduce")), inputs)


def sums_in(outputs: Iterable[Output], inputs: Iterable[TimedFrame]) -> int:
    """How many of these outputs are no input: what a trace without any says nothing about."""
    seen = {item.frame for item in inputs}
    return sum(output.frame not in seen for output in outputs)


def compare(expected: Sequence[Output], found: Sequence[Output]) -> Difference | None:
    """The difference with the earliest input; None: all bytes are equal."""
    ports = sorted({output.port for output in (*expected, *found)})
    differences = [
        difference
        for port in ports
        if (difference := _compare_port(port, _of(expected, port), _of(found, port))) is not None
    ]
    return min(differences, key=lambda difference: (difference.step, difference.port), default=None)


def _of(outputs: Iterable[Output], port: int) -> list[Output]:
    return [output for output in outputs if output.port == port]


def _compare_port(port: int, expected: list[Output], found: list[Output]) -> Difference | None:
    for index in range(max(len(expected), len(found))):
        ours = expected[index] if index < len(expected) else None
        theirs = found[index] if index < len(found) else None
        if ours is not None and theirs is not None and ours.frame == theirs.frame:
            continue
        if ours is None:
            assert theirs is not None
            return Difference(Kind.EXTRA, port, index, theirs.step, b"", theirs.frame)
        if theirs is None or (index + 1 < len(expected) and expected[index + 1].frame == theirs.frame):
            return Difference(Kind.MISSING, port, index, ours.step, ours.frame, b"")
        if index + 1 < len(found) and found[index + 1].frame == ours.frame:
            return Difference(Kind.EXTRA, port, index, theirs.step, b"", theirs.frame)
        return Difference(Kind.DIFFERS, port, index, ours.step, ours.frame, theirs.frame)
    return None


def describe(difference: Difference, inputs: Sequence[TimedFrame]) -> list[str]:
    """Lines for people: which frame, after which input, and every field that differs."""
    lines = [f"frame {difference.index} out of port {difference.port} {difference.kind}"]
    if 0 <= difference.step < len(inputs):
        cause = inputs[difference.step]
        lines.append(f"  after input {difference.step} (port {cause.port}): {RELIABLE.describe(cause.frame)}")
    fields = difference.fields
    if not fields:
        lines.append(f"  it is: {RELIABLE.describe(difference.expected or difference.found)}")
        texts = [f"  {field.name:<22} {field.text}" for field in dissect(difference.expected or difference.found)]
        lines += texts[:_MOST_FIELDS] + (
            [f"  and {len(texts) - _MOST_FIELDS} more"] if len(texts) > _MOST_FIELDS else []
        )
        return lines
    lines.append(f"  expected: {RELIABLE.describe(difference.expected)}")
    for field in fields[:_MOST_FIELDS]:
        bits = f" (bits {field.bits})" if field.bits else ""
        lines.append(f"  {field.name}: expected {field.expected}, found {field.found}{bits}")
    if len(fields) > _MOST_FIELDS:
        lines.append(f"  and {len(fields) - _MOST_FIELDS} fields more")
    return lines
