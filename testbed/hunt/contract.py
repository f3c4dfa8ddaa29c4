"""What hunts ask of a protocol; and class `Protocol`, which has the methods of all floors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from testbed.bench.contract import MeasuredProtocol
from testbed.hunt.search_mark import SearchMark
from testbed.scenario.protocols.known import lacks_methods, protocol_of

if TYPE_CHECKING:
    from random import Random

    from testbed.checkers import CheckContext
    from testbed.explain.contract import NodeWait
    from testbed.hunt.schedule import Survival
    from testbed.plan.model import Plan
    from testbed.reading.known import Section
    from testbed.scenario.model import Scenario
    from testbed.states.contract import Explored

__all__ = ["Hunt", "Hunted", "Protocol", "whole_protocol"]


@dataclass(frozen=True, eq=False)
class Hunt(ABC):
    """How schedules are drawn for a protocol, and why it must survive them. The defaults of the fields fit protocols
    whose workers send again for ever; `testbed.hunt.kinds` has the classes to derive from."""

    dtypes: Mapping[str, int]
    """data types that it sums, with weights"""
    steps: tuple[str, ...] = ()
    """names of the steps that `SlotChanged` may tell, as `slot empty/first`"""
    impossible: Mapping[str, str] = field(default_factory=dict)
    """steps that no run takes, with reasons"""
    values_per_index: int = 1
    """values of memory that an index takes"""
    frames_each_way: int = 1
    """kinds of frames that go one way over a link for a block, and must all come through; not used where there is a
    server"""
    vectors: int = 1
    """vectors that follow each other in an iteration: each begins when all of the one before it is there"""
    waits: int = 1
    """timeouts until a packet has come through when nothing is lost any more; not asked where there is a server"""
    spans_racks: bool = False
    """jobs without a parameter server may span racks, too"""
    every_tier: bool = False
    """with a parameter server, switches of every tier may add, not those of workers and server alone"""
    backs_off: bool = False
    """senders wait longer and longer (`BackoffTimer`), as all do where there is a server"""
    tells_overflow: bool = True
    """a clamped sum of int32sat is reported, and ends the job"""
    marks: Mapping[str, SearchMark] = field(default_factory=dict)
    """states of trouble that a search should reach sometimes, by name"""
    watches_slots: bool = True
    """with a parameter server, traced switches are held to the table of aggregators"""

    @abstractmethod
    def draw(
        self, dice: Random, hunted: Hunted, base: Scenario | None, program: str, *, traced: bool, seed: int
    ) -> Scenario:
        """With `base`: that scenario with other faults. Else all of it is drawn, with `program` on the switches. The
        time limit is when it must have ended. `traced`: it will record the steps of the tables; `seed`: of the run."""

    @abstractmethod
    def survival(self) -> Survival:
        """Why a schedule must end well."""

    @abstractmethod
    def broken_rules(self, context: CheckContext) -> Iterator[tuple[str, str]]:
        """(rule, what broke it), of rules that the stock checkers cannot judge, since breaking them costs time and no
        sum."""

    @abstractmethod
    def values(self, scenario: Scenario, hunted: Hunted) -> dict[str, object]:
        """Of a schedule, for the coverage."""

    @abstractmethod
    def smaller(self, scenario: Scenario, hunted: Hunted) -> Iterator[Scenario]:
        """What is simpler than a schedule."""

    def draw_keys(self, dice: Random) -> Section | None:
        """The section of the protocol's own keys of a job, where `draw` asks for it. None: it has no keys."""
        return None


@dataclass(frozen=True, slots=True)
class Hunted:
    """A protocol as hunts see it. Its name is that of the kind of hunt, too."""

    name: str
    program: str
    """of its switches, usually"""
    hunt: Hunt
    server: bool
    """jobs have parameter servers, and share all slots"""
    knobs: bool
    """those of AggregatorKnobs, and rules of priority"""
    operations: tuple[str, ...]
    """as those of `Protocol`"""

    @property
    def spans_racks(self) -> bool:
        """Its jobs may have workers in several racks."""
        return self.server or self.hunt.spans_racks

    @property
    def backs_off(self) -> bool:
        """Senders wait longer and longer."""
        return self.server or self.hunt.backs_off

    @property
    def dtypes(self) -> Mapping[str, int]:
        return self.hunt.dtypes

    @property
    def steps(self) -> tuple[str, ...]:
        return self.hunt.steps

    @property
    def impossible(self) -> Mapping[str, str]:
        return self.hunt.impossible

    @property
    def marks(self) -> Mapping[str, SearchMark]:
        return self.hunt.marks

    @property
    def values_per_index(self) -> int:
        return self.hunt.values_per_index


class Protocol(MeasuredProtocol):
    """A protocol as one object: the fields of `KnownProtocol`, and the methods that all floors ask for.

    A class needs `plan`, and `order` where its sums are exact. Every other part asks the object, and compares no name
    of a protocol, program or class.
    """

    whole: ClassVar[bool] = True

    def hunt(self) -> Hunt | None:
        """None: no schedule is drawn for it, or, over reliable connections, as for NetReduce."""
        return None

    def ring_steps(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the steps that its switches trace in hunts over rings (`testbed.hunt.transitions`): on a rack, and
        those that only a fabric has."""
        return (), ()

    def states(self) -> Explored | None:
        """How all states of a small configuration are visited. None: they are not."""
        return None

    def waits(self, machines: Mapping[str, object], plan: Plan) -> Iterable[NodeWait]:
        """What nodes wait for. `machines`: the interpreted Machines that live, by node. Empty: nothing is known."""
        return ()


def whole_protocol(protocol: str) -> Protocol:
    """By name. Raises as `protocol_of`, and ScenarioError for one that lacks these methods."""
    found = protocol_of(protocol)
    if not isinstance(found, Protocol):
        raise lacks_methods(found)
    return found
