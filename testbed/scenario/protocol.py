"""A collective as one value. Every other part asks it, and compares no name of a collective, program or class.

The values are in `testbed/protocols/`, one folder each; `testbed.scenario.known` finds them by name. What a higher
floor gives or takes (plans, gradients, schedules of hunts) has no type here: the accessor of that floor says it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from testbed.reading.known import Section
from workloads.collectives.operations import ALL_REDUCE

__all__ = ["Hunt", "Part", "Protocol", "SectionCheck", "Traits"]

SectionCheck: TypeAlias = Callable[..., None]
"""Checks what must hold between sections of a scenario file. Its parameters name what it needs
(`testbed.scenario.sections`); it is called when all of that is there and good."""


@dataclass(frozen=True, slots=True)
class Traits:
    """How a protocol differs from others, in the words in which the others ask."""

    reliable: bool = False
    """workers talk over reliable connections (RoCE v2 RC), one ring of them or several; False: in datagrams"""
    sums: bool = True
    """False: every worker gets something else than the sum"""
    approximate: bool = False
    """sums are not bit for bit those of a reference: a checker of its own judges them"""
    one_size: bool = False
    """hosts know how long the gradient of their job is, and take no other"""
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
    why_no_clamping: str = ""
    """why its sums cannot be int32sat; empty: they can"""
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
    server_completes: bool = False
    """the server sees every block complete"""
    names_racks: bool = False
    """packets name racks besides workers, so that a job may be larger than `bitmap0`"""
    server_knobs: tuple[str, ...] = ()
    """of `switch.knobs`: those that the server obeys, whatever program the switches run"""
    has_priorities: bool = False
    """packets carry a priority: `job.priority`, `job.priority_x0`"""
    answers_at_once: bool = False
    """of datagrams: a packet is acknowledged when it comes, whatever other workers sent"""
    heeds_marks: bool = False
    """windows follow the marks of congestion: `transport.aimd`"""
    slots_move: bool = False
    """packets carry the slot that they ask for, which is another one after a collision"""
    recoveries: tuple[str, ...] = ("gbn",)
    """values of `transport.recovery` that it takes"""
    framings: tuple[str, ...] = ("udp",)
    """values of `transport.framing` that it takes"""
    largest_mtu: int = 4096
    """of `transport.path_mtu`"""
    needs: str = ""
    """what a scenario file of another collective lacks for it, in words; empty: nothing"""
    told_share: float = 0.6
    """bytes of records in memory, for each byte of gradient that a worker reduces"""


@dataclass(frozen=True, slots=True)
class Hunt:
    """How schedules are drawn for a protocol of datagrams, and why it must survive them. Functions of `testbed.hunt`
    stand here as `module:function`, since that is far above; the defaults fit protocols whose workers send again for
    ever."""

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
    every_tier: bool = False
    """with a parameter server, switches of every tier may add, not those of workers and server alone"""
    backs_off: bool = False
    """senders wait longer and longer (`BackoffTimer`), as all do where there is a server"""
    tells_overflow: bool = True
    """a clamped sum of int32sat is reported, and ends the job"""
    draw_keys: Callable[..., Any] | None = None
    """dice (`random.Random`) -> the section of the protocol's own keys of a job, where `draw` asks for it"""
    draw: str = "testbed.hunt.draw_datagrams:draw_datagram_schedule"
    survival: str = "testbed.hunt.survival_datagrams:SURVIVAL"
    """the argument (`testbed.hunt.schedule.Survival`)"""
    rules: str = "testbed.hunt.slot_rules:broken_rules_of_slots"
    """what the stock checkers cannot judge, since breaking it costs time and no sum"""
    values: str = "testbed.hunt.coverage:values_of_jobs"
    """of a schedule, for the coverage"""
    smaller: str = "testbed.hunt.shrink_datagrams:smaller_datagrams"
    """what is simpler than a schedule"""
    watches_slots: bool = True
    """with a parameter server, traced switches are held to the table of aggregators"""


@dataclass(frozen=True, slots=True)
class Part:
    """What a worker does for the sums of its job."""

    contributes: bool = True
    """its packets enter them"""
    sums: bool = False
    """whether it completes some blocks itself, and reports them (`BlockSummed`)"""


@dataclass(frozen=True, slots=True)
class Protocol:
    name: str
    """as in `job.collective`"""
    summary: str
    """one line for `tb list collectives`"""
    plan: Callable[..., Any]
    """Scenario -> `testbed.plan.Plan`, without background traffic"""
    programs: tuple[str, ...] = ("forward",)
    """of switches, that serve it; the usual one first"""
    traits: Traits = Traits()
    job_keys: type[Section] | None = None
    """keys that it adds to `job`; `Job.own` is the section that they make"""
    checks: tuple[SectionCheck, ...] = ()
    """what must hold between sections of the scenario file, for this collective alone"""
    check_fault: Callable[..., None] | None = None
    """check whether a fault can apply: takes (Problems, (place, kind, fault), Job, Transport, ranks of a job or None).
    None: the rules for every RoCE connection, or every datagram"""
    operations: tuple[str, ...] = (ALL_REDUCE,)
    """values of `job.operation` that it runs"""
    order: Callable[..., Any] | None = None
    """(Plan, workers of one group by rank, their gradients) -> what each must hold, by rank: the reference of
    `bit_exact`. None: the fold in rank order"""
    blocks: Callable[..., int] | None = None
    """(configuration of a worker, elements of its gradient) -> blocks of an iteration, of protocols that tell of
    blocks"""
    part: Callable[..., Part] | None = None
    """configuration of a worker -> its part in sums. None: all contribute, and none completes any"""
    bound: Callable[..., float] | None = None
    """(Plan, bits per second of gradient that the slowest link leaves) -> the bound of the goodput. None: that
    figure"""
    worker: type[Any] | None = None
    """class of the configurations of its workers, for `tb worker --config`; None: `workloads.config.WorkerConfig`"""
    worker_problems: Callable[..., Any] | None = None
    """configuration of a worker -> what cannot be in it (`workloads.datagrams.problems`)"""
    checkers: tuple[Any, ...] = ()
    """objects of `testbed.checkers.Checker` that judge runs of this collective, in addition to the stock checkers"""
    follow: Callable[..., Any] | None = None
    """Plan -> what judges a training piece by piece (`testbed.checkers.pieces.PieceJudge`), of protocols whose sums are
    approximate. None: such a one cannot train; others are held to `order`"""
    hunt: Hunt | None = None
    """None: no schedule is drawn for it, or, over reliable connections, as for NetReduce"""
    like: str = ""
    """Built-in protocol whose scenario files a protocol of the user's own can run. Scenario files that are kept name
    it."""
