"""`job` and `jobs`: what the workers do."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, runtime_checkable

from testbed.reading.fields import (
    BoolKey,
    DurationKey,
    HostNameKey,
    NamesKey,
    ProbabilityKey,
    SomeNamesKey,
    TextKey,
    VectorSizeKey,
    WordKey,
    choice,
    floats_as_integers,
    number_above_zero,
    number_or_auto,
    whole,
)
from testbed.reading.keytypes import At
from testbed.reading.sections import Also, Key, Section
from testbed.scenario.keys.gradients import LayersType, ModelType
from testbed.scenario.keys.stages import StagesKeys
from testbed.scenario.protocols import names
from testbed.scenario.protocols.own_code import OWN_CODE
from testbed.scenario.protocols.owned_keys import only, takes
from testbed.scenario.protocols.protocol import KeyGroup
from topologies import MAX_RACK_HOSTS, MAX_RANKS
from workloads.collectives.operations import ALL_REDUCE
from workloads.datagrams.priority import LEAST_X0, MOST_X0
from workloads.models import Model

__all__ = ["Compute", "Job", "JobEntry", "SharedJob", "SizedKeys", "Straggler"]

_OVER_ROCE = only(lambda protocol: protocol.repairs_losses(), "has no RoCE connections with messages", "over RoCE")
_LAYERED = takes(KeyGroup.LAYERS, "knows nothing of it")
_IN_DATAGRAMS = only(lambda protocol: not protocol.repairs_losses(), "has a window of messages")
_WITH_SERVER = only(lambda protocol: protocol.servers(), "has no parameter server")
_WITH_SCALE = takes(KeyGroup.FIXED_SCALE, "has no way to tell that a sum left its range")
_WITH_PRIORITIES = takes(KeyGroup.PRIORITY, "has no priorities")
_SEVERAL = takes(KeyGroup.JOBS, "runs one job")
_IN_PLACE = takes(KeyGroup.IN_PLACE, "still reads its gradient when parts of the result are there")
_FALLS_BACK = takes(KeyGroup.FALLBACK, "asks nothing of the network that could fail alone")
_LAYERS = (
    "the same, as a list in forward order: `[{layer: conv1, elements: 23296, forward: 1ms, "
    "backward: 2ms}, ...]`. `elements` may be a list, one number for each tensor. If you omit the times, "
    "they are 0"
)


@dataclass(frozen=True, slots=True)
class Compute(Section):
    """How long an iteration computes: a ratio, or both times; neither where the layers of the model were measured."""

    ratio: Annotated[float | None, number_above_zero(1000)] = None
    """to the time that the gradient takes on the slowest link of the job's hosts"""
    forward_ns: DurationKey | None = None
    """of the whole pass"""
    backward_ns: DurationKey | None = None
    """of the whole pass"""
    jitter: ProbabilityKey = 0.0
    """each layer takes up to that share longer or shorter"""

    def check(self, at: At) -> None:
        if self.ratio is not None and (self.forward_ns is not None or self.backward_ns is not None):
            (at / "ratio").add("cannot be combined with times", allowed="ratio, or forward and backward")
        elif (self.forward_ns is None) != (self.backward_ns is None):
            missing = "forward" if self.forward_ns is None else "backward"
            (at / missing).add("is missing", allowed="both forward and backward, as 20ms")
        if self.jitter >= 1:
            (at / "jitter").add("out of range", found=f"{self.jitter:.0%}", allowed="0% to below 100%")


@dataclass(frozen=True, slots=True)
class Straggler(Section):
    """A rank that is late in every iteration."""

    rank: Annotated[int, whole(0, MAX_RANKS - 1)]
    """of the job"""
    delay_ns: DurationKey | None = None
    """it starts that late"""
    slowdown: Annotated[float | None, number_above_zero(1000)] = None
    """it computes that much slower, where `compute` gives it something to do"""

    def check(self, at: At) -> None:
        if self.delay_ns is None and self.slowdown is None:
            allowed = "a number with ns, us, ms, s or min, as 2ms; or slowdown, as 1.5"
            (at / "delay").add("is missing", allowed=allowed)


@dataclass(frozen=True, slots=True)
class SharedJob(Section):
    """What one job and each of several have."""

    workload: Annotated[str, choice(names.WORKLOADS)] = "synthetic"
    """`synthetic`: gradients from the seed. `extreme`: the same with values at the ends of the type among them.
    `special`: also infinities and NaNs, for floats that do not travel as integers. `digits`: a real model; it has its
    own size, float32 and sum"""
    size_bytes: Annotated[VectorSizeKey, Key(title="Gradient size")] = 1_000_000
    """of one gradient, a multiple of 4 bytes; any number of bytes where `operation` only moves them. Protocols
    with [other operations](operations.md) take 0, too"""
    model: Annotated[Model | None, _LAYERED, ModelType(), Also("layers", LayersType(), _LAYERS)] = None
    """instead of `size`, a DNN: `alexnet`, `vgg16`, `resnet50`, `bert-base`, `bert-large`, `gpt2`, or the path of a CSV
    file, from the folder of the scenario ([jobs](jobs.md#models))"""
    stages: Annotated[StagesKeys | None, _LAYERED, Key(what="the stages")] = None
    """instead of `size`, a parallelisation strategy: `{chain: alexnet, strategy: "5xDP,3xMP", divide: 1000}`. Its
    transfers follow one another, with computing between them ([strategies](strategies.md#as-one-of-several-jobs))"""
    scale: Annotated[int, _LAYERED, whole(1, 1_000_000)] = 1000
    """divisor of the tensors of a model; no tensor becomes smaller than a packet. Not allowed together with `size`. In
    `job`, it also applies to the entries of `jobs`"""
    compute: Annotated[Compute | None, _LAYERED] = None
    """`{ratio: 0.25}` of the time that the gradient takes on the wire, or `{forward:
    1ms, backward: 2ms}` in all; `jitter: 10%` ([jobs](jobs.md#time))"""
    dtype: Annotated[str, choice(names.DTYPES)] = "float32"
    """`float32` (folded in rank order), `int32` (wraps), `int32sat` (clamped once; refused where hosts or racks sum a
    part, which would clamp early: `ring`, `fallback: ring`, `tencent`, `parallel_netreduce`, `recursive_doubling`,
    `rabenseifner`, `netreduce` on two tiers)"""
    iterations: Annotated[int, whole(1, 1_000_000), Key(title="Iterations")] = 1
    """all-reduces, one after the other"""
    in_place: Annotated[BoolKey, _IN_PLACE] = False
    """the result overwrites the gradient, in the memory that packets are read from, as an in-place call of NCCL does"""
    batch: Annotated[int | None, whole(1, 1 << 24)] = None
    """samples from which each worker computes one gradient, for the figure `samples_per_second`. It changes no packet
    and no time. `digits` has its own"""
    window_packets: Annotated[int, _IN_DATAGRAMS, whole(1, 1 << 15), Key(title="Window of a worker")] = 64
    """W, packets outstanding per worker, 1 to 32768; never more than a gradient has packets. With `switchml` never more
    than its part of `switch.memory` has indices: half of it with one job"""
    straggler: Annotated[Straggler | None, Key(what="the straggler")] = None
    """`{rank: 2, delay: 100ms}`: that rank starts every iteration late. `slowdown: 1.5`: it computes that much slower,
    where `compute` gives it something to do"""
    hosts: Annotated[NamesKey, Key(shown="`all`", title="Hosts of the job")] = ()
    """the hosts that run the job, in rank order: `[h1, h2, h3]`. The others run no worker"""
    arrival_ns: Annotated[DurationKey, _LAYERED] = 0
    """the job starts that long after the traffic"""
    server: Annotated[HostNameKey, _WITH_SERVER, Key(shown="the last host")] = ""
    """the host of the job's parameter server, which is no worker. Several jobs may have the same one"""
    fixed_scale: Annotated[float | None, _WITH_SCALE, floats_as_integers(), Key("quantisation")] = None
    """with `float32`: how floats become integers. `exponents`: by the largest value of each half block, so
    that no sum overflows; `fixed:1e6`: times that number, as ATP's release does, and sums saturate
    ([ATP](atp.md#the-worker))"""
    priority: Annotated[TextKey, _WITH_PRIORITIES] = "esa-default"
    """`equal`, `layer`, `comm`, `srpt`, `las`, `esa-default` ([ESA](esa.md#the-worker-and-its-priorities))"""
    priority_x0: Annotated[float | None, _WITH_PRIORITIES, number_or_auto(LEAST_X0, MOST_X0)] = None
    """where the scale of the rule begins: 1e-12 to 1000000; `equal` has none"""

    @property
    def straggle_rank(self) -> int | None:
        """Rank that starts every iteration late."""
        return None if self.straggler is None else self.straggler.rank

    @property
    def straggle_ns(self) -> int:
        return 0 if self.straggler is None else self.straggler.delay_ns or 0

    @property
    def straggle_factor(self) -> float:
        """By which that rank computes slower."""
        return 1.0 if self.straggler is None else self.straggler.slowdown or 1.0


@runtime_checkable
class SizedKeys(Protocol):
    """Keys of a protocol from which the size of a gradient follows."""

    def gradient_bytes(self, ranks: int) -> int: ...


@runtime_checkable
class FileKeys(SizedKeys, Protocol):
    """Keys of a workload that is a file."""

    @property
    def reader(self) -> str:
        """protocol that reads it"""
        ...


@dataclass(frozen=True, slots=True)
class Job(SharedJob):
    """What the workers do."""

    protocol: Annotated[str, choice(names.PROTOCOLS, or_form=OWN_CODE), Key(first=True, was="collective")] = (
        names.DEFAULT_PROTOCOL
    )
    """what the hosts do with their gradients: one of [these](#protocols). A protocol of an installed
    [package](extending.md#a-protocol-of-your-own-without-touching-the-project) goes by its name. Only the command line
    can name a protocol in a file: `--set job.protocol=mine.py:MINE`"""
    operation: Annotated[str, choice(names.OPERATIONS)] = ALL_REDUCE
    """what becomes of the gradients: `all_reduce`, `reduce_scatter`, `all_gather`, `broadcast`, `reduce`, `all_to_all`,
    `send`, `barrier` ([which protocol runs which](operations.md))"""
    root: Annotated[int, whole(0, MAX_RANKS - 1)] = 0
    """rank from which a `broadcast` or a `send` starts, or to which a `reduce` leads"""
    op: Annotated[str, choice(names.OPS)] = "sum"
    """`sum`, `max`, `xor`"""
    message_packets: Annotated[int, _OVER_ROCE, whole(1, 1024), Key(title="Message length (packets)")] = 170
    """L, packets of a full message, 1 to 1024"""
    window_messages: Annotated[int, _OVER_ROCE, whole(1, 16384), Key(title="Window (messages)")] = 2
    """N, messages in flight. 2 N L slots must fit 1 GiB of switch memory, and 2 N L packets half the PSN space"""
    copies: Annotated[int, _SEVERAL, whole(1, MAX_RANKS)] = 1
    """the job runs so many times side by side, each on its share of the hosts and of the
    switch's memory. The first job has the first hosts"""
    credit: Annotated[str, _OVER_ROCE, choice(names.CREDITS)] = "both"
    """message m may go when m-N `received` came back, or m-N was `acked`, or `both`"""
    hello: Annotated[BoolKey, _OVER_ROCE] = True
    """message 0 is one packet without elements, and nothing else goes before its result is back"""
    fallback: Annotated[str, _FALLS_BACK, choice(names.FALLBACKS)] = "none"
    """what becomes of a job whose connections die: `none`, it fails; `ring`, every worker starts it again as ring
    all-reduce ([accelerator](accelerator.md))"""
    pipelined: Annotated[BoolKey, _OVER_ROCE] = True
    """rings pass on each message as soon as it is there. `false`: a step begins when the one before is over, its
    messages received and acknowledged, as closed forms count"""
    name: str = ""
    """of one of several jobs"""
    number: int | None = None
    """id of one of several jobs; None: by its place among them"""
    seed_offset: int = 0
    """jobs with different offsets have different gradients"""
    own: Any = None
    """the section of the keys that its protocol adds (`Protocol.job_keys`); None: it adds none. One that is
    `SizedKeys` says how large a gradient is, in place of `size`"""
    file: FileKeys | None = None
    """the section of the keys of a workload that is a file, where `protocol` makes its sums; None: there is none"""

    @property
    def runs(self) -> str:
        """The protocol that plans what hosts run, and says what they must hold: that which reads the file, else its
        own."""
        return self.protocol if self.file is None else self.file.reader

    @property
    def sized(self) -> SizedKeys | None:
        """The keys from which the size of a gradient follows."""
        return next((keys for keys in (self.file, self.own) if isinstance(keys, SizedKeys)), None)

    def left_out(self) -> Collection[str]:
        """What follows from the other keys, or means nothing to many protocols."""
        plain = Job()
        if self.sized is not None or self.stages is not None:
            return ("size_bytes", "model", "scale", *self._unused(plain))
        names = self._unused(plain)
        if self.workload == "digits":
            return (*names, "size_bytes", "model", "scale", "compute")
        if self.model is not None:
            return (*names, "size_bytes")
        # A scale without a model is for the entries of `jobs` that have one.
        scaled = self.scale != plain.scale and self.size_bytes == plain.size_bytes
        return (*names, "size_bytes" if scaled else "scale")

    def _unused(self, plain: Job) -> list[str]:
        """What means nothing to many protocols, and is as it comes."""
        usual = ("arrival_ns", "fixed_scale", "priority", "operation", "root")
        names = [name for name in usual if getattr(self, name) == getattr(plain, name)]
        if self.priority_x0 is None or self.priority == "equal":
            names.append("priority_x0")
        return names


@dataclass(frozen=True, slots=True)
class JobEntry(SharedJob):
    """One of `jobs`: a `Job` with a place of its own. What it does not say is as in `job`."""

    name: Annotated[WordKey, Key(shown="`job` and its place")] = ""
    """in the report"""
    number: Annotated[int | None, whole(1, names.MOST_JOBS), Key("id", shown="its place, from 1")] = None
    """on the wire, 1 to 1024"""
    hosts: Annotated[SomeNamesKey, Key(shown="")] = ()
    """one host or more, in rank order; not `all`"""
    workers: Annotated[int | None, whole(2, MAX_RACK_HOSTS), Key(shown="")] = None
    """instead of `hosts`: so many of the first hosts that no job names, 2 or more; of a job of datagrams at most 32, as
    of `hosts`"""
    seed_offset: Annotated[int, whole(0, 1 << 20), Key(shown="its place, from 0")] = 0
    """jobs with one offset have the same gradients"""
