"""One Machine on interfaces of this network namespace: driven until it is over, its events as JSON lines on stdout."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from socket import socket
from typing import TYPE_CHECKING, Any

from workloads.errors import HostCapabilityError
from workloads.machine import Event, event_record

if TYPE_CHECKING:
    from testbed.captures.capture import BoundedTap

__all__ = ["NodeOrders", "drive", "noted", "tell"]


def tell(now: int, event: Event) -> None:
    record = {"t": now, **event_record(event)}
    sys.stdout.write(json.dumps(record, separators=(",", ":")) + "\n")
    sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class NodeOrders:
    """What other processes may ask for while a machine runs."""

    barrier: bool = False
    """the machine begins when stdin has a line, and ends when stdin does"""
    on_signal: Mapping[signal.Signals, Callable[[], Event | None]] = field(default_factory=dict)
    """what happens between two turns of the loop; its event is reported"""
    control: Callable[[Callable[[], int]], tuple[socket, Callable[[], bool]]] | None = None
    """given the machine's clock: a socket that the loop watches, and what to do when it can be read, as of a
    DataPlane"""
    heeds_signals: Callable[[], None] = lambda: None
    """called once signals do what is said here"""


def drive(
    machine: Any,
    interfaces: list[str],
    *,
    backpressure: bool,
    until: Callable[[int], bool],
    started: Event | None = None,
    orders: NodeOrders | None = None,
    tap: BoundedTap | None = None,
    dilation: int = 1,
) -> None:
    """Runs the machine until it is over or a signal came, then lets it report its last facts.

    `started` is reported once frames are received. `dilation`: real seconds per second of the machine's time.
    """
    from switch_nodes.dataplane import DataPlane
    from switch_nodes.dataplane.clock import EmulatedClock
    from switch_nodes.dataplane.options import PlaneControl, PlaneTiming, PortStages

    clock = EmulatedClock(dilation)
    origin = time.monotonic_ns()
    orders = orders or NodeOrders()
    actions, control = orders.on_signal, orders.control

    with noted((signal.SIGTERM, signal.SIGINT, *actions)) as came:
        orders.heeds_signals()

        def over() -> bool:
            now = clock.since(origin)
            while came:
                act = actions.get(signal.Signals(came.pop(0)))
                if act is None:
                    return True
                event = act()
                if event is not None:
                    tell(now, event)
            return until(now) or (orders.barrier and _abandoned())

        by = (None, None) if control is None else control(lambda: clock.since(origin))
        director = PlaneControl(tell, control=by[0], on_control=by[1])
        try:
            plane = DataPlane(
                machine,
                interfaces,
                director,
                backpressure=backpressure,
                stages=PortStages(tap=tap),
                timing=PlaneTiming(clock),
            )
        except OSError as error:
            raise HostCapabilityError(
                f"one of the interfaces {', '.join(interfaces)} in this network namespace ({error.strerror or error})",
                "`ip link` shows those that are there",
            ) from error
        if orders.barrier:
            from testbed.history.events import BarrierPassed, BarrierReached

            tell(0, BarrierReached())
            if not sys.stdin.readline():
                return
            origin = time.monotonic_ns()
            tell(0, BarrierPassed(time.time_ns()))
        if started is not None:
            tell(clock.since(origin), started)
        plane.run(origin, until=over)
    if tap is not None:
        from testbed.history.events import CaptureCut

        tap.close()
        if tap.is_full:
            tell(clock.since(origin), CaptureCut(tap.limit_bytes))
    machine.finish(clock.since(origin))
    while (event := machine.next_event()) is not None:
        tell(clock.since(origin), event)


def _abandoned() -> bool:
    """Whether the process that started us is gone: no process holds the other end of our stdin."""
    ready, _, _ = select.select([0], [], [], 0)
    return bool(ready) and os.read(0, 4096) == b""


@contextlib.contextmanager
def noted(kinds: Sequence[signal.Signals]) -> Iterator[list[int]]:
    """A list that gets the number of each of these signals that comes."""
    came: list[int] = []
    before = [signal.signal(kind, lambda number, _: came.append(number)) for kind in kinds]
    try:
        yield came
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
