"""A host's Machine from the user's own file. What its code raises, and invalid values that it gives out, are reported
as the user's errors. The digests of its results are computed here, from its buffer."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from workloads.blame import in_one_line, is_interrupt, is_on_purpose, place_in
from workloads.config import NodeConfig
from workloads.errors import ScenarioError
from workloads.events import CollectiveCompleted
from workloads.machine import Buffer, Event
from workloads.ownvalues import check_event, check_frame, check_time, shown
from workloads.plugins import PROGRAMS, PROTOCOLS, plugins

__all__ = ["Witnessed", "create_own"]

_VERBS = ("receive_frame", "frames_to_send", "get_timer", "handle_timer", "next_event", "finish")
_BATCHED = ("receive_batch", "fill_batch")
_OWN = "own_"
"""prefix, as `workloads.hosts.OWN_MODULES`, which imports this module late"""
_RUNS = "runs"
"""as `workloads.hosts.RUNS`"""
_MOST_EVENTS = 1_000_000
"""most events between two verbs"""


def create_own(config: NodeConfig, start_ns: int) -> Witnessed:
    """The Machine that the configuration makes, with the method `create`, or with the function that `runs` names.
    Raises ScenarioError."""
    own = type(config)
    runs = getattr(own, _RUNS, None)
    module, _, name = runs.partition(":") if isinstance(runs, str) else ("", "", "create")
    made_in = getattr(getattr(own, "create", None), "__module__", "")
    blame = Blame(sys.modules.get(next((each for each in (module, made_in) if each.startswith(_OWN)), own.__module__)))
    make: Callable[..., Any] | None = getattr(own, "create", None)
    with blame(f"what {own.__name__}.runs names"):
        if hasattr(own, _RUNS):
            try:
                make = getattr(importlib.import_module(module), name)
            except (ImportError, AttributeError, ValueError) as error:
                raise ValueError(f"{shown(runs)} is no `module:function` ({error})") from error
        if make is None:
            raise TypeError(f"{own.__name__} has no method create(start_ns)")
    with blame(name):
        machine = make(config, start_ns)
        missing = [verb for verb in _VERBS if not callable(getattr(machine, verb, None))]
        if missing:
            raise TypeError(f"it returned {shown(machine)}, which is no Machine: it lacks {', '.join(missing)}")
    return Witnessed(machine, blame)


class Blame:
    """Turns what the user's code raises into ScenarioErrors with its file, line and function."""

    def __init__(self, module: object) -> None:
        self._file = str(getattr(module, "__file__", None) or "?")
        top = str(getattr(module, "__name__", "")).partition(".")[0]
        each = (plugin for group in (PROTOCOLS, PROGRAMS) for plugin in plugins(group).values())
        plugin = next((plugin for plugin in each if plugin.top == top), None)
        self._owns: Callable[[str], bool] = self._file.__eq__ if plugin is None else plugin.owns

    @contextmanager
    def __call__(self, verb: str) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            if is_on_purpose(error, self._owns) or isinstance(error, GeneratorExit) or is_interrupt(error):
                raise
            file, line, function = place_in(error, self._owns) or (self._file, None, verb)
            raise ScenarioError(
                f"the protocol's own code failed in {function}: {in_one_line(error)}", file=file, line=line
            ) from error


class Witnessed:
    """Does what `machine` does. A machine may offer `result`, the buffer with the elements of its last result. Then the
    digest that it reports is replaced by that of the bytes in this buffer."""

    def __init__(self, machine: Any, blame: Blame) -> None:
        self.machine, self._blame = machine, blame
        self._events: deque[Event] = deque()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.machine, name)
        return self._watched(name) if name in _BATCHED else found

    def _watched(self, verb: str) -> Callable[..., None]:
        def call(*args: Any) -> None:
            with self._blame(verb):
                getattr(self.machine, verb)(*args)

        return call

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        with self._blame("receive_frame"):
            self.machine.receive_frame(port, frame, now)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, Buffer]]:
        with self._blame("frames_to_send"):
            frames = iter(self.machine.frames_to_send(now))
        while True:
            with self._blame("frames_to_send"):
                try:
                    port, frame = next(frames)
                except StopIteration:
                    return
                check_frame(port, frame, 1, "host")
            yield port, frame

    def get_timer(self) -> int | None:
        with self._blame("get_timer"):
            return check_time(self.machine.get_timer())

    def handle_timer(self, now: int) -> None:
        with self._blame("handle_timer"):
            self.machine.handle_timer(now)
        self._hear()  # the buffer is that of the next iteration soon

    def finish(self, now: int) -> None:
        with self._blame("finish"):
            self.machine.finish(now)

    def next_event(self) -> Event | None:
        self._hear()
        return self._events.popleft() if self._events else None

    def _hear(self) -> None:
        with self._blame("next_event"):
            while (event := self.machine.next_event()) is not None:
                check_event(event)
                self._events.append(self._digested(event) if isinstance(event, CollectiveCompleted) else event)
                if len(self._events) > _MOST_EVENTS:
                    raise ValueError(f"it reported more than {_MOST_EVENTS:,} events at once")

    def _digested(self, event: CollectiveCompleted) -> CollectiveCompleted:
        result = getattr(self.machine, "result", None)
        if result is None:
            return event
        try:
            data = memoryview(result).cast("B")
        except (TypeError, ValueError) as error:
            raise TypeError(f"`result` is {shown(result)}; allowed is a buffer of the elements, or None") from error
        return replace(event, sha256=hashlib.sha256(data).hexdigest())
