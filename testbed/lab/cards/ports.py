"""A golden trace through the ports of a real card: an input goes in when all that the one before must cause has come
out.

AF_PACKET sockets on interfaces that lead to the card's ports, in this network namespace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from switch_nodes.dataplane.packet_io import PacketIo
from switch_nodes.fpga.golden import Output, TimedFrame
from workloads.machine import FrameBatch
from workloads.wire.places import SRC_MAC

__all__ = ["PortPassage", "play_through"]

_ROWS = 64


@dataclass(frozen=True, slots=True)
class PortPassage:
    outputs: tuple[Output, ...]
    strangers: int
    """frames from a MAC that sent nothing into the card: other talk on the wires"""
    stalled: int
    """inputs after which something did not come out in time"""


def play_through(
    io: PacketIo,
    inputs: Sequence[TimedFrame],
    expected: Sequence[Output],
    *,
    clock: Callable[[], int],
    timeout_ns: int,
    settle_ns: int,
    give_up_after: int = 3,
) -> PortPassage:
    """`timeout_ns`: how long to wait for what must come out after an input. `settle_ns`: how long to listen when
    nothing must, since a frame must not overtake another on its way through the card, and at the end. After so many
    stalls the rest is not sent."""
    wanted = Counter(output.step for output in expected)
    sources = {item.frame[SRC_MAC] for item in inputs}
    received, sending = io.attach(FrameBatch.of(_ROWS, io.stride)), io.attach(FrameBatch.of(1, io.stride))
    outputs: list[Output] = []
    strangers = stalled = due = 0

    def listen(step: int, until_ns: int, enough: int | None = None) -> None:
        """Until there are `enough` outputs, or the time is over."""
        nonlocal strangers
        while (enough is None or len(outputs) < enough) and (left := until_ns - clock()) > 0:
            for row in range(io.receive(received, left)):
                frame = bytes(received.batch.row(row))
                if frame[SRC_MAC] in sources:
                    outputs.append(Output(step, int(received.batch.ports[row]), frame))
                else:
                    strangers += 1

    for step, item in enumerate(inputs):
        sending.batch.count = 0
        sending.batch.append(item.port, item.frame)
        io.send(sending, 1, True)
        due += wanted[step]
        if wanted[step]:
            listen(step, clock() + timeout_ns, due)
            if len(outputs) < due:
                stalled += 1
                due = len(outputs)
                if stalled >= give_up_after:
                    break
        else:
            listen(step, clock() + settle_ns)
    listen(len(inputs) - 1, clock() + settle_ns)
    return PortPassage(tuple(outputs), strangers, stalled)
