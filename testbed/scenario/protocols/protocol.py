"""What is known of every protocol before it plans anything: its name, and what a scenario file may hold.

A protocol is an object of class `testbed.protocols.Protocol`. Each floor declares the methods that it asks for, in a
module `contract` of its own, and each of these classes derives from that of the floor below: scenario, plan, checkers,
hunt. The objects are in `testbed/protocols/`, one folder each; `testbed.scenario.protocols.known` finds them by name.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from testbed.reading.known import Section
from workloads.collectives.operations import ALL_REDUCE
from workloads.config import HostConfig

if TYPE_CHECKING:
    from workloads.transports import TransportKind

__all__ = ["KeyGroup", "KnownProtocol", "ResultKind", "Shortfall"]


class KeyGroup(Enum):
    """Keys that some protocols take. A file of any other protocol must not hold them."""

    JOBS = "jobs, job.copies"
    """several jobs at a time"""
    LAYERS = "job.model, layers, scale, compute, arrival"
    """a gradient that is sent layer by layer, as it is computed"""
    IN_PLACE = "job.in_place"
    """no packet, resent ones included, is read from an element after the result of this element was written"""
    FALLBACK = "job.fallback"
    """what hosts do when their connections die"""
    FIXED_SCALE = "job.quantisation"
    """one scale for all floats: a sum that leaves its range is reported"""
    PRIORITY = "job.priority, job.priority_x0"
    """packets carry a priority"""
    MARKS = "transport.aimd"
    """windows follow the marks of congestion"""


class ResultKind(Enum):
    """What ranks hold at the end, and who judges it."""

    SUM = "the sum, bit for bit that of `order`"
    NEAR_SUM = "almost the sum: a checker of the protocol's own judges it"
    ORDERED = "something else, bit for bit that of `order`"
    UNORDERED = "something else: a checker of the protocol's own judges it"

    @property
    def is_sum(self) -> bool:
        return self in (ResultKind.SUM, ResultKind.NEAR_SUM)

    @property
    def is_exact(self) -> bool:
        """`order` says every bit of it."""
        return self in (ResultKind.SUM, ResultKind.ORDERED)


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
    """as in `job.protocol`"""
    summary: str
    """one line for `tb list protocols`"""
    title: str = ""
    """name in the legends of figures; empty: `name`"""
    programs: tuple[str, ...] = ("forward",)
    """of switches, that serve it; the usual one first"""
    job_keys: type[Section] | None = None
    """keys that it adds to `job`; `Job.own` is the section that they make"""
    file_keys: type[Section] | None = None
    """of a protocol that reads workloads: keys of a job of another protocol (`runs_files`) with such a file;
    `Job.file` is the section that they make"""
    worker: type[HostConfig] | None = None
    """class of the configurations of its workers, for `tb worker --config`; None: `workloads.config.WorkerConfig`"""
    like: str = ""
    """Built-in protocol whose scenario files a protocol of the user's own can run. Scenario files that are kept name
    it."""

    def program(self, keys: Section | None) -> str:
        """What switches run where a scenario file does not say. `keys`: those that it adds to `job` (`job_keys`). As it
        is: the usual one."""
        return self.programs[0]

    def operations(self) -> tuple[str, ...]:
        """Values of `job.operation` that it runs."""
        return (ALL_REDUCE,)

    def sends_zeros(self, operation: str) -> bool:
        """Whether an all-reduce of whole vectors stands for this operation, with zeros where a rank gives nothing."""
        return False

    def reads_workload(self, text: str) -> bool:
        """Whether this value of `job.workload` is a file of its own. A job that names such a file runs on this
        protocol; the protocol that the scenario names then is `job.all_reduce`, unless it `runs_files`."""
        return False

    def runs_files(self) -> bool:
        """Whether it makes the sums of a workload that another protocol reads: vectors of any length, one after the
        other, with connections between hosts for what is no sum of all ranks (`mesh` of its `worker`)."""
        return False

    def optional_keys(self) -> frozenset[KeyGroup]:
        """Keys that it takes, of those that not every protocol has."""
        return frozenset()

    def result(self) -> ResultKind:
        """What each of its ranks holds at the end."""
        return ResultKind.SUM

    def wire_dtype(self, dtype: str) -> str:
        """The data type in packets, of gradients of this one. Neither infinities nor NaNs travel as integers."""
        return dtype

    def message_window(self, messages: int, packets: int) -> int | None:
        """Packets of a worker under way, at most, where gradients travel in messages that each have their own sum.
        `messages`: of a window; `packets`: of a message. None: there are no such messages."""
        return None

    def servers(self) -> int:
        """Parameter servers of a job, on hosts of their own."""
        return 0

    def as_stage(self) -> str:
        """What it is as the value of `job.all_reduce`, one line for people. Empty: it runs no stage of a strategy. A
        protocol that runs one has one ring over all hosts."""
        return ""

    def as_fallback(self) -> str:
        """What it does as the value of `job.fallback`, one line for people. Empty: it is none."""
        return ""

    def worlds(self) -> tuple[str, ...]:
        """Values of `world` that can run it."""
        return ("emulated", "simulated")

    def recoveries(self) -> tuple[str, ...]:
        """Values of `transport.recovery` that it takes."""
        return ("gbn",)

    def framings(self) -> tuple[str, ...]:
        """Values of `transport.framing` that it takes."""
        return ("udp",)

    def largest_mtu(self) -> int:
        """Of `transport.path_mtu`."""
        return 4096

    def transport(self, framing: str) -> TransportKind:
        """How its packets travel, and are recognised. `framing`: value of `transport.framing`. As it is: in datagrams,
        or over unreliable connections."""
        if framing == "uc":
            from workloads.uc.transport import UNRELIABLE

            return UNRELIABLE
        from workloads.datagrams.transport import DATAGRAMS

        return DATAGRAMS

    def repairs_losses(self) -> bool:
        """Whether its transport sends again what is lost; else hosts of the protocol do."""
        return self.transport(self.framings()[0]).is_reliable

    def shortfall(self) -> Shortfall | None:
        """Asked of protocols of the user's own. None: their runs can be judged."""
        return None
