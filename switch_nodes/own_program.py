"""Guard around a user's own program. What its code raises, and impossible output, is reported as an error of the
program, with file, class and line. It never ends or crashes the testbed."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from switch_nodes.config import SwitchConfig
from switch_nodes.program import ProgramBase, SwitchProgram
from switch_nodes.program_events import check_program_event
from switch_nodes.program_files import PROGRAM_KEY
from workloads.blame import deepest_place, how_ended, in_one_line, is_interrupt, is_on_purpose
from workloads.errors import ScenarioError, TestbedError
from workloads.livelock import Livelock
from workloads.ownvalues import check_fields, check_frame, check_time
from workloads.plugins import PROGRAMS, plugins

__all__ = [
    "ProgramFailed",
    "accused",
    "check_told",
    "ended_process",
    "slow_process",
    "watched",
]

_PLAIN = ("receive_frame", "handle_timer", "finish", "receive_batch", "fill_batch")
"""verbs that answer nothing"""


class ProgramFailed(ScenarioError):
    """Code of the user's own program raised an exception, called for the end of the process, or returned no valid
    frame, event or time. Its key is the class."""

    reason: str = ""
    """what was raised"""
    function: str = ""
    """function of the program's, where it happened"""


def ended_process(program: str, status: int, switch: str = "", what: str = "program") -> ProgramFailed:
    """Its code ended the process that it ran in, before any code could report more. `program`: `path.py:Class`;
    `status`: exit code, or minus the number of a signal; `what`: program or protocol."""
    shown, _, name = program.rpartition(":")
    key = f"class {name}" if what == "program" else name
    how = how_ended(status)
    where = f" on {'switch' if what == 'program' else 'host'} {switch}" if switch else ""
    failure = ProgramFailed(f"the {what}'s own code ended its process{where} ({how})", file=shown, key=key)
    failure.reason = f"ended its process ({how})"
    return failure


def slow_process(program: str, limit_s: float, node: str, what: str = "program") -> ProgramFailed:
    """Its code kept a node from answering, or the whole simulation (`node` empty). Arguments as of `ended_process`."""
    shown, _, name = program.rpartition(":")
    key = f"class {name}" if what == "program" else name
    problem = f"node {node} did not answer for {limit_s:g} s; it runs this {what}"
    if not node:
        problem = f"the {what}'s own code took longer than {limit_s:g} s in one virtual instant, and did not return"
    failure = ProgramFailed(problem, file=shown, key=key)
    failure.reason = f"did not answer for {limit_s:g} s"
    return failure


def check_told(machine: object, event: object) -> None:
    """For worlds, as they record it. Raises ProgramFailed when a switch's program reported an event that programs may
    not report, and that got past all guards."""
    try:
        check_program_event(event)
    except (TypeError, ValueError) as error:
        config = getattr(getattr(machine, "machine", machine), "config", None)  # a clock may stand in front of it
        program, switch = (getattr(config, name, "?") for name in ("program", "name"))
        failure = ProgramFailed(
            f"the program {program} of switch {switch} reported an event that it must not report: {error}",
            key=PROGRAM_KEY,
        )
        failure.reason, failure.function = in_one_line(error), "next_event"
        raise failure from error


def accused(error: Livelock, machine: object) -> TestbedError:
    """Who is to blame for a switch that does not come to an end: its program, where that is the user's; else we."""
    config = getattr(getattr(machine, "machine", machine), "config", None)  # a clock may stand in front of it
    shown, own, name = str(getattr(config, "program", "")).rpartition(":")
    if error.is_host or not (own or plugins(PROGRAMS).get(name)):
        return error
    failure = ProgramFailed(
        f"the program's own code does not come to an end on switch {error.node}: {error.what}",
        file=shown, key=f"class {name}",
    )  # fmt: skip
    failure.reason, failure.function = f"does not come to an end: {error.what}", "its verbs"
    return failure


def watched(found: type, shown: str, filename: str) -> Callable[[SwitchConfig], SwitchProgram]:
    """A factory of `found`, a class of the program file that messages call `shown` and tracebacks `filename`. What it
    makes is a `found` still; each of its verbs, and the factory, raises ProgramFailed for what the program's code
    raised or gave out. A TestbedError that it raises stays what it is: it is how programs refuse a configuration.
    Raises ScenarioError for a class that cannot be watched (it allows no subclass)."""
    watch = _Watch(found, shown, filename)
    try:
        made = types.new_class(found.__name__, (found,), exec_body=lambda body: body.update(_verbs(found, watch)))
    except (Exception, SystemExit) as error:
        raise ScenarioError(
            f"no subclass can be made of it: {in_one_line(error)}", file=shown, line=watch.line_of(""), key=watch.key
        ) from error
    made.__module__, made.__qualname__ = found.__module__, found.__qualname__
    watch.made = made

    def create(config: SwitchConfig) -> SwitchProgram:
        with watch("__init__", config.name):
            program: SwitchProgram = made(config)
            return program

    return create


class _Watch:
    """Turns what the code of one class raises into ProgramFailed."""

    def __init__(self, found: type, shown: str, filename: str) -> None:
        self.found, self.shown, self.filename = found, shown, filename
        self.key, self.made = f"class {found.__name__}", cast(Any, found)

    @contextmanager
    def __call__(self, verb: str, switch: str = "") -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            if is_on_purpose(error, self.filename) or isinstance(error, GeneratorExit) or is_interrupt(error):
                raise
            raise self._failure(error, verb, switch) from error

    def _failure(self, error: BaseException, verb: str, switch: str) -> ProgramFailed:
        line, function = deepest_place(error, self.filename) or (self.line_of(verb), verb)
        where = f" on switch {switch}" if switch else ""
        failure = ProgramFailed(
            f"the program's own code failed{where} in {function}: {in_one_line(error)}",
            file=self.shown, line=line, key=self.key,
        )  # fmt: skip
        failure.reason, failure.function = in_one_line(error), function
        return failure

    def line_of(self, verb: str) -> int | None:
        """Where the file defines the verb, or else the class."""
        code = getattr(getattr(self.found, verb, None), "__code__", None)
        if code is not None and code.co_filename == self.filename:
            first: int = code.co_firstlineno
            return first
        try:
            tree = ast.parse(Path(self.filename).read_bytes())
        except (OSError, SyntaxError, ValueError):
            return None
        lines = (n.lineno for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == self.found.__name__)
        return next(lines, None)


def _verbs(found: type, watch: _Watch) -> dict[str, Any]:
    """What stands in front of the class's own methods."""

    def plain(verb: str) -> Callable[..., None]:
        def call(self: Any, *args: Any) -> None:
            with watch(verb, _switch(self)):
                getattr(super(watch.made, self), verb)(*args)

        call.__name__ = verb
        return call

    def frames_to_send(self: Any, now: int) -> Iterator[tuple[int, Any]]:
        switch, ports = _switch(self), _ports(self)
        with watch("frames_to_send", switch):
            frames = iter(super(watch.made, self).frames_to_send(now))
        while True:
            with watch("frames_to_send", switch):
                try:
                    port, frame = next(frames)
                except StopIteration:
                    return
                check_frame(port, frame, ports)
            yield port, frame

    def get_timer(self: Any) -> int | None:
        with watch("get_timer", _switch(self)):
            return check_time(super(watch.made, self).get_timer())

    def next_event(self: Any) -> Any:
        with watch("next_event", _switch(self)):
            event = super(watch.made, self).next_event()
            if event is not None:
                _check_event(event) if not queues else check_program_event(
                    event
                )  # `tell` looked at what went through it
            return event

    def emit(self: Any, port: int, frame: Any) -> None:
        check_frame(port, frame, _ports(self))
        super(watch.made, self).emit(port, frame)

    def tell(self: Any, event: Any) -> None:
        _check_event(event)
        super(watch.made, self).tell(event)

    queues = issubclass(found, ProgramBase)
    verbs: dict[str, Any] = {verb: plain(verb) for verb in _PLAIN if hasattr(found, verb)}
    verbs |= {"frames_to_send": frames_to_send, "get_timer": get_timer, "next_event": next_event}
    if queues:  # refused where they are given: there the line is known
        verbs |= {"emit": emit, "tell": tell}
    return verbs


def _switch(program: Any) -> str:
    return str(getattr(getattr(program, "config", None), "name", ""))


def _ports(program: Any) -> int | None:
    ports = getattr(getattr(program, "config", None), "ports", None)
    return ports if isinstance(ports, int) else None


def _check_event(event: Any) -> None:
    """Raises TypeError or ValueError."""
    check_program_event(event)
    check_fields(event)
