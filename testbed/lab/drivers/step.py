"""What a step of a driver is. It is declared once, on the method that does it on one host. From the declaration follow
the step on all hosts at once, `tb lab` and its dry run, and the fabric tasks. So do the tables of docs/lab.md, and what
is undone at the end."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, ClassVar

from testbed.lab.lab import Lab, StepDone
from testbed.lab.model import Host
from testbed.lab.parallel import TaskOutcome, require_all
from workloads.errors import LabError

__all__ = ["BoundStep", "Driver", "DriverStep", "Undoing", "step"]

_Each = Callable[[Host], Mapping[str, Any]]
"""arguments that differ from host to host"""


@dataclass(frozen=True, slots=True)
class DriverStep:
    name: str
    """name in the history, in `tb lab` and as a task"""
    does: str
    """description for people, in one line"""
    act: Callable[..., StepDone]
    """method of the driver: (driver, host, arguments by name)"""
    would: tuple[str, ...] = ()
    """what runs where, for a dry run; {python}, {base}, {socket}, {version} and {power} are the host's"""
    needs: tuple[str, ...] = ()
    """steps, of any driver, that must have been done on the host"""
    undone_by: str = ""
    """step of the same driver; empty: nothing is left to undo"""
    undone_with: str = ""
    """step whose undoing undoes this one as well"""
    changes: bool = True
    """something on the host, so that two commands of one user do not do it at once"""
    all_or_none: bool = False
    """whether it is undone on the others where it fails on one host"""
    named: bool = False
    """hosts must be named, for a person who names none does not mean all"""
    command: bool = False
    """`tb lab` offers it"""
    task: bool = False
    """whether it is a fabric task"""

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Its arguments in addition to the host, by name."""
        _, _, *found = inspect.signature(self.act, eval_str=True).parameters.values()
        return {parameter.name: parameter for parameter in found}


class _Declared:
    """Stands in for the method: asked of a driver it is the step on that driver's hosts."""

    def __init__(self, declared: DriverStep) -> None:
        self.step = declared

    def __get__(self, driver: Driver | None, owner: type) -> Any:
        return self if driver is None else BoundStep(driver, self.step)


def step(does: str, *, name: str = "", **declared: Any) -> Callable[[Callable[..., StepDone]], Any]:
    """Declares a method as a step; `name`: other than the method's. The rest: fields of Step."""

    def declare(act: Callable[..., StepDone]) -> _Declared:
        return _Declared(DriverStep(name or act.__name__, does, act, **declared))

    return declare


@dataclass
class Driver:
    """Of the hosts that it is given."""

    lab: Lab
    hosts: Sequence[Host]
    undoing: Undoing | None = None
    """what is done is noted there"""

    steps: ClassVar[dict[str, DriverStep]] = {}
    """steps by name, in the order of their declaration"""

    def __init_subclass__(cls) -> None:
        found = [entry.step for entry in vars(cls).values() if isinstance(entry, _Declared)]
        cls.steps = {declared.name: declared for declared in found}

    def step(self, name: str) -> BoundStep:
        return BoundStep(self, self.steps[name])

    def value(self, values: dict[str, Any]) -> Any:
        """What a step answers. `values`: by host."""
        return values


@dataclass(frozen=True, slots=True)
class BoundStep:
    driver: Driver
    step: DriverStep

    def __call__(self, *, each: _Each = lambda host: {}, **arguments: Any) -> Any:
        """On all hosts at once; results are reported as they come. Raises the failure that came first, when all have
        ended."""
        undoing = self.driver.undoing
        if undoing is not None:
            undoing.begun(self, each, arguments)
        outcomes = self.attempt(each=each, **arguments)
        if self.step.all_or_none and any(outcome.error is not None for outcome in outcomes):
            done = [outcome.target for outcome in outcomes if outcome.error is None]
            self.undo(done, each, arguments)
            if undoing is not None:
                undoing.forget(self)
            raise next(outcome.error for outcome in outcomes if outcome.error is not None)
        values = {host.name: done.value for host, done in require_all(outcomes).items()}
        if undoing is not None:
            undoing.ended(self)
        return self.driver.value(values)

    def attempt(
        self, hosts: Sequence[Host] | None = None, *, each: _Each = lambda host: {}, **arguments: Any
    ) -> list[TaskOutcome[Host, StepDone]]:
        """As a call, on these hosts (default: the driver's); no failure raises."""

        def act(host: Host) -> StepDone:
            return self.step.act(self.driver, host, **arguments, **each(host))

        return self.driver.lab.attempt(self.step.name, act, self.driver.hosts if hosts is None else hosts)

    def undo(
        self, hosts: Sequence[Host], each: _Each, arguments: Mapping[str, Any]
    ) -> list[TaskOutcome[Host, StepDone]]:
        """Run the step that is declared to undo it, with those arguments of this step that it takes."""
        inverse = self.driver.step(self.step.undone_by)
        wanted = inverse.step.parameters

        def fitting(host: Host) -> dict[str, Any]:
            return {key: value for key, value in {**arguments, **each(host)}.items() if key in wanted}

        return inverse.attempt(hosts, each=fitting)


@dataclass
class Undoing:
    """At the end of the block, what was done in it is undone, the newest first. After a failure no second one hides the
    first."""

    kept: Mapping[str, Collection[str]] = field(default_factory=dict)
    """step -> hosts on which it was done before the block, and stays"""
    _begun: list[tuple[BoundStep, _Each, Mapping[str, Any]]] = field(default_factory=list)

    def begun(self, bound: BoundStep, each: _Each, arguments: Mapping[str, Any]) -> None:
        """Before it is done: one that fails half-way may have left something."""
        if bound.step.undone_by:
            self._begun.append((bound, each, arguments))

    def forget(self, bound: BoundStep) -> None:
        """It has undone itself."""
        self._begun = [entry for entry in self._begun if entry[0] is not bound]

    def ended(self, bound: BoundStep) -> None:
        """What this step undoes is undone where it was done."""
        hosts = {host.name for host in bound.driver.hosts}
        self._begun = [
            entry
            for entry in self._begun
            if not _undoes(bound, entry[0]) or not hosts.issuperset(host.name for host in entry[0].driver.hosts)
        ]

    def undo(self) -> list[TaskOutcome[Host, StepDone]]:
        """All that is noted; no failure raises."""
        outcomes: list[TaskOutcome[Host, StepDone]] = []
        undone: list[BoundStep] = []
        while self._begun:
            bound, each, arguments = self._begun.pop()
            hosts = [host for host in bound.driver.hosts if self._is_undone_on(bound.step, host)]
            if hosts and not any(_undoes(other, bound) for other in undone):
                outcomes += bound.undo(hosts, each, arguments)
                undone.append(bound.driver.step(bound.step.undone_by))
        return outcomes

    def _is_undone_on(self, done: DriverStep, host: Host) -> bool:
        if done.undone_with:
            return host.name in self.kept.get(done.undone_with, ())
        return host.name not in self.kept.get(done.name, ())

    def __enter__(self) -> Undoing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            require_all(self.undo())
        else:
            with suppress(LabError):
                self.undo()


def _undoes(one: BoundStep, other: BoundStep) -> bool:
    """Whether a step of this name undoes the other, on the same driver's hosts."""
    return other.step.undone_by == one.step.name and type(other.driver) is type(one.driver)
