"""What is known of every collective before it plans anything: its name, its traits, and what a scenario file may hold.

A protocol is an object of class `testbed.protocols.Protocol`. Each floor declares the methods that it asks for, in a
module `contract` of its own, and each of these classes derives from that of the floor below: scenario, plan, checkers,
hunt. The objects are in `testbed/protocols/`, one folder each; `testbed.scenario.known` finds them by name.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from testbed.reading.known import Section
from workloads.collectives.operations import ALL_REDUCE
from workloads.config import HostConfig

if TYPE_CHECKING:
    from workloads.transports import TransportKind

__all__ = ["KnownProtocol", "Shortfall", "Traits"]


@dataclass(frozen=True, slots=True)
class Traits:
    """How a protocol differs from others, in the words in which the others ask."""

    reliable: bool = False
    """workers talk over reliable connections (RoCE v2 RC), one ring of them or several; False: in datagrams"""
    sums: bool = True
    """False: every worker gets something else than the sum"""
    approximate: bool = False
    """sums are not bit for bit those of a reference: a checker of its own judges them"""
    in_messages: bool = False
    """the gradient travels in messages of `message_packets`, `window_messages` of them at a time, each with its sum"""
    in_place: bool = False
    """takes `job.in_place`: no packet, resent ones included, is read from an element after the result of this element
    was written"""
    is_stage: bool = False
    """one ring of its own over all hosts, which can be the all-reduce of a strategy's stage (`job.all_reduce`)"""
    may_fall_back: bool = False
    """takes `job.fallback`"""
    as_fallback: str = ""
    """what it does as the value of `job.fallback`, one line for people; empty: it is none"""
    several_jobs: bool = False
    """its switches serve several jobs: `jobs` and `job.copies`"""
    layered: bool = False
    """workers send what is computed layer by layer: `model`, `layers`, `scale`, `compute`, `arrival`"""
    floats_as_integers: bool = False
    """neither infinities nor NaNs can travel"""
    fixed_scale: bool = False
    """a sum that leaves its range is reported, so that floats can be multiplied by one scale (`job.quantisation`)"""
    has_server: bool = False
    """jobs have a parameter server"""
    has_priorities: bool = False
    """packets carry a priority: `job.priority`, `job.priority_x0`"""
    heeds_marks: bool = False
    """windows follow the marks of congestion: `transport.aimd`"""
    recoveries: tuple[str, ...] = ("gbn",)
    """values of `transport.recovery` that it takes"""
    framings: tuple[str, ...] = ("udp",)
    """values of `transport.framing` that it takes"""
    largest_mtu: int = 4096
    """of `transport.path_mtu`"""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """What a protocol lacks, so that no run of it could be judged."""

    problem: str
    """text that follows the protocol's name"""
    found: str
    allowed: str


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownProtocol(ABC):
    """The fields of a protocol. Its methods are in the classes that derive from this one."""

    whole: ClassVar[bool] = False
    """whether a class has the methods of all floors"""

    name: str
    """as in `job.collective`"""
    summary: str
    """one line for `tb list collectives`"""
    title: str = ""
    """name in the legends of figures; empty: `name`"""
    programs: tuple[str, ...] = ("forward",)
    """of switches, that serve it; the usual one first"""
    traits: Traits = Traits()
    job_keys: type[Section] | None = None
    """keys that it adds to `job`; `Job.own` is the section that they make"""
    worker: type[HostConfig] | None = None
    """class of the configurations of its workers, for `tb worker --config`; None: `workloads.config.WorkerConfig`"""
    only_virtual: bool = False
    """runs in virtual time alone"""
    like: str = ""
    """Built-in protocol whose scenario files a protocol of the user's own can run. Scenario files that are kept name
    it."""

    def operations(self) -> tuple[str, ...]:
        """Values of `job.operation` that it runs."""
        return (ALL_REDUCE,)

    def sends_zeros(self, operation: str) -> bool:
        """Whether an all-reduce of whole vectors stands for this operation, with zeros where a rank gives nothing."""
        return False

    def reads_workload(self, text: str) -> bool:
        """Whether this value of `job.workload` is a file of its own. A job that names such a file runs on this
        collective; the collective that the scenario names then is `job.all_reduce`."""
        return False

    def transport(self, framing: str) -> TransportKind:
        """How its packets travel, and are recognised. `framing`: value of `transport.framing`."""
        if self.traits.reliable:
            from workloads.rc.transport import RELIABLE

            return RELIABLE
        if framing == "uc":
            from workloads.uc.transport import UNRELIABLE

            return UNRELIABLE
        from workloads.datagrams.transport import DATAGRAMS

        return DATAGRAMS

    def shortfall(self) -> Shortfall | None:
        """Asked of protocols of the user's own. None: their runs can be judged."""
        return None
