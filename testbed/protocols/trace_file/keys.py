"""What a trace adds to `job`, and what must hold between that and the rest of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from testbed.protocols.parts.checks_switch_sums import between_hosts, check_switch_sums
from testbed.protocols.trace_file.keys_files import FORMS, load_trace, with_groups
from testbed.protocols.trace_file.keys_runs import ALL_REDUCES, connected_operations, fewest_bytes, rings_of
from testbed.reading.fields import choice, refuse, whole
from testbed.reading.keytypes import At, KeyType, Refer
from testbed.reading.problems import KeyPath, Problems, show
from testbed.reading.sections import Key, NotKnown, Section
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.switch import SwitchOptions
from testbed.scenario.keys.transport import Transport
from testbed.scenario.overrides import SET_FILE
from testbed.scenario.protocols.names import ROCE_PATH_MTUS
from topologies import MAX_RANKS, Topology
from workloads.collectives.kinds import ring_kind
from workloads.collectives.operations import ALL_REDUCE
from workloads.config import ELEMENT_BYTES
from workloads.errors import HostCapabilityError, ScenarioError
from workloads.traces.chakra import ChakraOptions
from workloads.traces.layout import TraceLayout, lay_out
from workloads.traces.matching import TraceOperation
from workloads.traces.model import BARRIER, JobTrace

__all__ = [
    "MOST_SEATS",
    "TraceFileKeys",
    "TraceKeys",
    "all_reduce_of",
    "check_next_to_sums",
    "check_trace",
    "trace_keys",
]

MOST_SEATS = 32_640
"""connections of all ranks: each has two numbers of queue pairs"""
_SWITCH_MEMORY = 1 << 30


@dataclass(frozen=True, slots=True)
class _PathType(KeyType):
    """A path from the folder of the file that names it, or from the working directory; written as it is found."""

    allowed: str

    def read(self, value: Any, at: At) -> str:
        if not isinstance(value, str) or not value:
            raise refuse("not a path", self.allowed)
        here = Path() if at.problems.place(at.path).file == SET_FILE else at.problems.folder
        return str((here / value).absolute())

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"type": "string"}


@dataclass(frozen=True, slots=True)
class TraceFileKeys(Section):
    """The keys of a job whose own protocol makes the sums of the trace."""

    workload: Annotated[str, _PathType(FORMS)]
    """a GOAL text (`*.goal`), a Chakra trace (`*.et`), or a folder with one `.et` file for each rank
    ([traces](traces.md))"""
    trace_ranks: Annotated[int | None, whole(2, MAX_RANKS), Key(shown="")] = None
    """with one `.et` file: the number of ranks, which all do what it holds"""
    trace_root: Annotated[int | None, whole(0, MAX_RANKS - 1), Key(shown="")] = None
    """rank that is the root of a broadcast or reduce whose node names none"""
    trace_groups: Annotated[str | None, _PathType("a JSON file: a list of ranks for each pg_name"), Key(shown="")] = (
        None
    )
    """path of a JSON file with the ranks of each `pg_name`: `{"1": [0, 1], "2": [2, 3]}`"""
    trace_ops: Annotated[int | None, whole(1, 10**21), Key(shown="")] = None
    """operations per second, by which `num_ops` of a node that has no duration become time"""
    divide: Annotated[int, whole(1, 1_000_000_000)] = 1
    """by which all messages and vectors are smaller, but never below one element; times are as they are"""

    @property
    def reader(self) -> str:
        return "trace_file"

    def check(self, at: At) -> None:
        try:
            self.load()
        except (ScenarioError, HostCapabilityError) as error:
            if isinstance(error, HostCapabilityError):
                raise
            at.problems.relay((*at.path, "workload"), error)

    def load(self) -> tuple[JobTrace, tuple[TraceOperation, ...]]:
        """The trace, and what its ranks do together. Raises ScenarioError."""
        options = ChakraOptions(root=self.trace_root, ops_per_second=self.trace_ops, ranks=self.trace_ranks)
        return load_trace(self.workload, with_groups(options, self.trace_groups))

    def known(self) -> tuple[JobTrace, tuple[TraceOperation, ...]]:
        """As `load`. Raises NotKnown where the trace is none."""
        try:
            return self.load()
        except ScenarioError:
            raise NotKnown("workload") from None

    def layout(self) -> TraceLayout:
        """Raises NotKnown likewise."""
        trace, operations = self.known()
        return lay_out(operations, len(trace.ranks), self.divide)

    def gradient_bytes(self, ranks: int) -> int:
        """Of the vectors of each rank."""
        return ELEMENT_BYTES * self.layout().elements


@dataclass(frozen=True, slots=True)
class TraceKeys(TraceFileKeys):
    all_reduce: Annotated[str, choice(ALL_REDUCES)] = "netreduce"
    """how vectors are summed: `netreduce` (in the switch), `ring`, or another all-reduce between hosts"""


def trace_keys(job: Job) -> TraceFileKeys:
    """The keys of a job that runs a trace."""
    found = job.own if job.file is None else job.file
    assert isinstance(found, TraceFileKeys)
    return found


def all_reduce_of(job: Job) -> str:
    """What sums vectors over connections of the trace: next to sums in datagrams, vectors of some ranks."""
    return job.own.all_reduce if isinstance(job.own, TraceKeys) else fewest_bytes()


def check_trace(
    problems: Problems,
    topology: Topology,
    switch: SwitchOptions,
    transport: Transport,
    job: Job,
    nics: Sequence[tuple[str, str]] = (),
) -> None:
    """The endpoints are our own, there is a host for each rank, and switches that sum have room for all rings."""
    for host, device in nics:
        problems.add(
            ("nics", host), "a trace has connections for each node, and a worker on an RDMA device has one ring",
            found=f"verbs:{device}", allowed="soft",
        )  # fmt: skip
    keys = trace_keys(job)
    trace, operations = keys.known()
    hosts = len(job.hosts) or len(topology.hosts) - bool(job.server)
    if hosts != len(trace.ranks):
        problems.add(
            ("job", "workload"), f"the trace has {len(trace.ranks)} ranks", found=f"{hosts} hosts",
            allowed=f"{len(trace.ranks)} hosts: topology.hosts, or job.hosts",
        )  # fmt: skip
        return
    connected = connected_operations(operations, job, hosts)
    rings = [ring for each in connected for ring in rings_of(each, all_reduce_of(job), keys.divide, job)]
    seats = sum(len(ring.ranks) for ring in rings)
    if seats > MOST_SEATS:
        problems.add(
            ("job", "workload"), "the trace needs too many connections", found=str(seats), allowed=f"{MOST_SEATS}"
        )
    if job.file is None and ring_kind(all_reduce_of(job)).is_summed:
        _check_sums(problems, topology, switch, transport, job, operations)


def check_next_to_sums(
    problems: Problems, transport: Transport, job: Job, entries: Sequence[tuple[KeyPath, Job]] = ()
) -> None:
    """A job whose protocol makes the sums of a trace does nothing else. `entries`: of `jobs`."""
    wrong = (
        ("copies", "a trace has the network for itself", str(job.copies), "1", job.copies > 1),
        ("model", "a trace has its own sizes", "a model, or layers", "omit the key", job.model is not None),
        ("stages", "a trace has its own sizes", "stages", "omit the key", job.stages is not None),
        ("compute", "a trace has its own computing", "compute", "omit the key", job.compute is not None),
        ("operation", "a trace says what ranks do", job.operation, ALL_REDUCE, job.operation != ALL_REDUCE),
        ("in_place", "each operation of a trace has a part of its own", "true", "false", job.in_place),
    )
    for key, problem, found, allowed, is_wrong in wrong:
        if is_wrong:
            problems.add(("job", key), problem, found=found, allowed=allowed)
    if entries:
        problems.add(
            ("jobs",), "a trace has the network for itself", found=f"{len(entries)} jobs", allowed="omit `jobs`"
        )
    if transport.path_mtu not in ROCE_PATH_MTUS:
        problems.add(
            ("transport", "path_mtu"), "a trace also has RoCE connections, which have no such MTU",
            found=str(transport.path_mtu), allowed=", ".join(map(str, ROCE_PATH_MTUS)),
        )  # fmt: skip


def _check_sums(
    problems: Problems,
    topology: Topology,
    switch: SwitchOptions,
    transport: Transport,
    job: Job,
    operations: Sequence[TraceOperation],
) -> None:
    keys: TraceKeys = job.own
    summed = [each for each in operations if each.kind in ("all_reduce", BARRIER) and len(each.ranks) > 1]
    if not summed:
        return
    if transport.speaks_irn:
        problems.add(
            ("transport", "recovery"), "switches sum for a trace with go-back-N alone", found=show(transport.recovery),
            allowed=f"gbn; or job.all_reduce: {between_hosts(ALL_REDUCES)}",
        )  # fmt: skip
    if not check_switch_sums(problems, topology, switch, job, keys.all_reduce, ALL_REDUCES):
        return
    ranks = len(job.hosts) or len(topology.hosts)
    some = next((each for each in summed if len(each.ranks) < ranks), None)
    if some is not None and len(topology.switches) > 1:
        problems.add(
            ("job", "all_reduce"), "several switches sum over all ranks of a job only",
            found=f"an all-reduce of ranks {', '.join(map(str, some.ranks[:8]))}",
            allowed=f"{between_hosts(ALL_REDUCES)}, or a topology with one switch",
        )  # fmt: skip
    each_ring = 2 * job.window_messages * job.message_packets * (ranks + 1) * transport.path_mtu
    if len(summed) * each_ring > _SWITCH_MEMORY:
        problems.add(
            ("job", "message_packets"), "the windows of all all-reduces are too large for the switch's memory",
            found=f"{len(summed)} rings of {each_ring} bytes", allowed=f"at most {_SWITCH_MEMORY} bytes in all",
        )  # fmt: skip
