"""What collective `traces` adds to `job`, and what must hold between that and the rest of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from testbed.protocols.parts.checks_switch_sums import between_hosts, check_switch_sums
from testbed.protocols.trace_file.keys_files import FORMS, load_trace, with_groups
from testbed.protocols.trace_file.keys_runs import ALL_REDUCES, rings_of
from testbed.reading.fields import choice, refuse, whole
from testbed.reading.keytypes import At, KeyType, Refer
from testbed.reading.problems import Problems, show
from testbed.reading.sections import Key, NotKnown, Section
from testbed.scenario.job import Job
from testbed.scenario.overrides import SET_FILE
from testbed.scenario.switch import SwitchOptions
from testbed.scenario.transport import Transport
from topologies import MAX_RANKS, Topology
from workloads.collectives.kinds import ring_kind
from workloads.config import ELEMENT_BYTES
from workloads.errors import HostCapabilityError, ScenarioError
from workloads.traces.chakra import ChakraOptions
from workloads.traces.layout import TraceLayout, lay_out
from workloads.traces.matching import TraceOperation
from workloads.traces.model import BARRIER, JobTrace

__all__ = ["MOST_SEATS", "TraceKeys", "check_trace"]

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
class TraceKeys(Section):
    workload: Annotated[str, _PathType(FORMS)]
    """a GOAL text (`*.goal`), a Chakra trace (`*.et`), or a folder with one `.et` file for each rank
    ([traces](traces.md))"""
    all_reduce: Annotated[str, choice(ALL_REDUCES)] = "netreduce"
    """how vectors are summed: `netreduce` (in the switch), `ring`, or another all-reduce between hosts"""
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
    keys: TraceKeys = job.own
    trace, operations = keys.known()
    hosts = len(job.hosts) or len(topology.hosts)
    if hosts != len(trace.ranks):
        problems.add(
            ("job", "workload"), f"the trace has {len(trace.ranks)} ranks", found=f"{hosts} hosts",
            allowed=f"{len(trace.ranks)} hosts: topology.hosts, or job.hosts",
        )  # fmt: skip
        return
    rings = [ring for each in operations for ring in rings_of(each, keys.all_reduce, keys.divide, job)]
    seats = sum(len(ring.ranks) for ring in rings)
    if seats > MOST_SEATS:
        problems.add(
            ("job", "workload"), "the trace needs too many connections", found=str(seats), allowed=f"{MOST_SEATS}"
        )
    if ring_kind(keys.all_reduce).is_summed:
        _check_sums(problems, topology, switch, transport, job, operations)


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
