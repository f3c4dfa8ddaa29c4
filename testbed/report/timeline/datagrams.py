"""Lanes of a run over datagrams: a worker, a parameter server or a switch each, and the slots of switches from a
trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TypeAlias

from testbed.faults.events import FaultStruck
from testbed.history import Record, of_kinds
from testbed.history.events import NodeExited
from testbed.report.timeline.dispatch import reads
from testbed.report.timeline.model import Lane, Mark, Span
from testbed.report.timeline.naming import Names
from testbed.report.timeline.queue_pairs import QpReader
from testbed.terminal.numbers import nanoseconds
from workloads.datagrams.blocks import (
    BlockLost,
    BlockReplayed,
    BlockSummed,
    Collided,
    ContributionIgnored,
    JobResumed,
    MemoryAtEnd,
    PartialSent,
    ServerStatistics,
    SlotChanged,
)
from workloads.events import (
    CollectiveCompleted,
    CollectiveStarted,
    DatagramResent,
    DatagramStatistics,
    FrameRejected,
    WorkerFinished,
)

__all__ = ["DatagramReader", "is_over_datagrams"]

_SIGNS = (
    BlockSummed, Collided, ContributionIgnored, DatagramResent, DatagramStatistics, MemoryAtEnd, PartialSent,
    ServerStatistics,
)  # fmt: skip
_OfBlock: TypeAlias = (
    BlockLost | BlockReplayed | BlockSummed | Collided | ContributionIgnored | DatagramResent | JobResumed | PartialSent
)
_LASTING = {"link_down", "rate_change"}
_RESENT = {"timeout": "timeout"}
"""kind of mark by cause; of others: back"""
_LEFT = {"complete": "sum", "repeated": "replay"}
"""kind of mark by the reason for which a sum left its slot; of others: back"""
_STATES = {"filling": "open", "done": "done"}
_MOVES = {"replayed": "replay", "duplicate": "ignored", "repeat": "ignored", "other": "odd", "other_lower": "back"}


def is_over_datagrams(history: Sequence[Record]) -> bool:
    """Whether its workers talk to slots of a switch or to a parameter server, not over connections."""
    return bool(of_kinds(history, *_SIGNS))


class DatagramReader(QpReader):
    """One lane for each node; `slots` by (switch, slot, version). Marks name their block in the detail."""

    def __init__(self, names: Names, faults: Lane, history: Sequence[Record]) -> None:
        super().__init__(names, faults)
        self.slots: dict[tuple[str, int, int], Lane] = {}
        self._servers: set[str] = set()
        jobs: dict[str, list[int]] = {}
        for record in of_kinds(history, *_SIGNS):
            node, event = record.node, record.event
            if node in names.hosts and isinstance(event, _SIGNS):
                known = jobs.setdefault(node, [])
                known += [] if event.job in known else [event.job]
                if isinstance(event, BlockSummed | ServerStatistics):
                    self._servers.add(node)
        self._lanes = {}
        servers = [name for name in names.hosts if name in self._servers]
        for host in (*(name for name in names.hosts if name not in self._servers), *servers):
            served = ", ".join(map(str, sorted(jobs.get(host, ()))))
            what = "server" if host in self._servers else "worker"
            self._lanes[host, "to"] = Lane(f"{host}, {what}" + (f" {served}" if served else ""), host)
        for switch in names.switches:
            self._lanes[switch, "to"] = Lane(f"{switch}, switch", switch)
        self._open: dict[tuple[str, int, int], tuple[int, str, str]] = {}
        """slot -> (since, state, block)"""
        self._turns: dict[str, tuple[int, int]] = {}
        """host -> (since, iteration)"""
        self._whole: dict[str, int] = {}
        """host -> when it had its last result"""

    def close(self, stop: int) -> None:
        for host, (since, number) in self._turns.items():
            if (host, "to") in self._lanes:
                self._lanes[host, "to"].spans.append(Span(since, stop, "turn", f"iteration {number}, not completed"))
        for key, (since, state, block) in self._open.items():
            self.slots[key].spans.append(Span(since, stop, state, f"{block}, {state}"))
        super().close(stop)

    def _tell(self, record: Record[_OfBlock], kind: str, label: str, more: str = "") -> None:
        block = f"block {record.event.block}" if record.event.block >= 0 else ""
        job = f"of job {record.event.job}" if record.event.job >= 0 else ""
        self._mark(record, "to", kind, label, detail=" ".join(part for part in (block, job, more) if part))

    @reads(CollectiveStarted)
    def _collective_started(self, record: Record[CollectiveStarted]) -> None:
        self._mark(record, "to", "turn", f"iteration {record.event.iteration} begins")
        self._turns[record.node] = record.t, record.event.iteration

    @reads(CollectiveCompleted)
    def _collective_completed(self, record: Record[CollectiveCompleted]) -> None:
        host, number, until = record.node, record.event.iteration, record.event.completed_ns
        since, _ = self._turns.pop(host, (until, number))
        self._whole[host] = until
        lane = self._lanes.get((host, "to"))
        if lane is not None:
            lane.marks.append(Mark(until, "result", f"iteration {number} is whole"))
            lane.spans.append(Span(since, until, "turn", f"iteration {number}"))

    @reads(DatagramResent)
    def _datagram_resent(self, record: Record[DatagramResent]) -> None:
        cause, attempt = record.event.cause, record.event.attempt
        self._tell(
            record, _RESENT.get(cause, "back"), f"sent again ({cause})", f"repetition {attempt}" if attempt > 1 else ""
        )

    @reads(DatagramStatistics)
    def _datagram_statistics(self, record: Record[DatagramStatistics]) -> None:
        counted = ", ".join(
            f"{value} {field.name.replace('_', ' ')}"
            for field in fields(DatagramStatistics)
            if field.name != "job" and (value := getattr(record.event, field.name))
        )
        self._mark(self._at_its_end(record), "to", "turn", "ends:", detail=counted)

    @reads(WorkerFinished)
    def _worker_finished(self, record: Record[WorkerFinished]) -> None:
        self._mark(self._at_its_end(record), "to", "turn", "has all results")

    def _at_its_end(self, record: Record) -> Record:
        """What a host reports when it has hashed its results, at the time when it had them."""
        return replace(record, t=self._whole.get(record.node, record.t))

    @reads(FrameRejected)
    def _frame_rejected(self, record: Record[FrameRejected]) -> None:
        self._mark(record, "to", "reject", f"rejected ({record.event.reason})", detail=record.event.detail)

    @reads(BlockSummed)
    def _block_summed(self, record: Record[BlockSummed]) -> None:
        self._tell(record, "sum", "sum")

    @reads(PartialSent)
    def _partial_sent(self, record: Record[PartialSent]) -> None:
        inside = sum(count > 0 for count in record.event.contributions)
        self._tell(
            record,
            _LEFT.get(record.event.reason, "back"),
            f"to the server ({record.event.reason})",
            f"with {inside} inside",
        )

    @reads(Collided)
    def _collided(self, record: Record[Collided]) -> None:
        owner = f"slot {record.event.slot} is that of block {record.event.owner_block} of job {record.event.owner_job}"
        self._tell(record, "odd", "collided", f"({owner})")

    @reads(BlockReplayed)
    def _block_replayed(self, record: Record[BlockReplayed]) -> None:
        self._tell(
            record, "replay", "result again", "to all" if record.event.rank < 0 else f"to rank {record.event.rank}"
        )

    @reads(ContributionIgnored)
    def _contribution_ignored(self, record: Record[ContributionIgnored]) -> None:
        self._tell(
            record,
            "ignored",
            f"ignored ({record.event.reason})",
            f"from rank {record.event.rank}" if record.event.rank >= 0 else "",
        )

    @reads(BlockLost)
    def _block_lost(self, record: Record[BlockLost]) -> None:
        self._tell(record, "fail", "LOST", f"rank {record.event.missing} has it no more")

    @reads(JobResumed)
    def _job_resumed(self, record: Record[JobResumed]) -> None:
        self._tell(record, "turn", "goes on with", f"after {nanoseconds(record.event.took_ns)}")

    @reads(ServerStatistics)
    def _server_statistics(self, record: Record[ServerStatistics]) -> None:
        counts = ("blocks", "copies", "replays", "overlaps", "ignored", "reminders", "nacks", "moved", "open")
        counted = ", ".join(f"{value} {name}" for name in counts if (value := getattr(record.event, name)))
        self._mark(
            record, "to", "turn", f"job {record.event.job} ends:", detail=f"{record.event.bytes_in} bytes in, {counted}"
        )

    @reads(SlotChanged)
    def _slot_changed(self, record: Record[SlotChanged]) -> None:
        node, state, after = record.node, record.event.state, record.event.next
        arrow = f", {state} -> {after}" if after != state else ""
        block = f"block {record.event.block} of job {record.event.job}"
        if node in self._names.hosts:
            # A server's blocks are more than lanes could be.
            self._mark(record, "to", "step", f"{record.event.cause}{arrow}", detail=block)
            return
        key = node, record.event.slot, record.event.version
        lane = self.slots.get(key)
        if lane is None:
            version = f".{key[2]}" if key[2] else ""
            lane = self.slots[key] = Lane(f"{node} slot {key[1]}{version}", node, slot=key[1])
        kind = _MOVES.get(record.event.cause, "step")
        lane.marks.append(Mark(record.t, kind, f"{record.event.cause}{arrow}", detail=block))
        before = self._open.get(key)
        now = _STATES.get(after)
        if before is not None and (now != before[1] or record.event.cause == "other_lower"):
            lane.spans.append(Span(before[0], record.t, before[1], f"{before[2]}, {before[1]}"))
            self._open.pop(key)
            before = None
        if now is not None and before is None:
            self._open[key] = record.t, now, block

    @reads(NodeExited)
    def _node_exited(self, record: Record[NodeExited]) -> None:
        """What a switch knew is gone."""
        super()._node_exited(record)
        if record.event.status != 0:
            for key in [key for key in self._open if key[0] == record.node]:
                since, state, block = self._open.pop(key)
                self.slots[key].spans.append(Span(since, record.t, state, f"{block}, {state}, then lost"))

    @reads(FaultStruck)
    def _fault_struck(self, record: Record[FaultStruck]) -> None:
        """A packet that a fault hit stands at the host whose link it was on."""
        kind, target = record.event.kind, record.event.target
        host = next(
            (name for name in target.split("-") if (name, "to") in self._lanes and name in self._names.hosts), ""
        )
        if not host or not record.event.direction or kind in _LASTING:
            super()._fault_struck(record)
            return
        place = f"{target} {record.event.direction}"
        label = (
            f"{kind} at {place}" if record.event.fault.startswith(kind) else f"{kind} {record.event.fault!r} at {place}"
        )
        again = f"copy {record.event.occurrence}" if record.event.occurrence > 1 else ""
        packet = record.event.packet.partition(" #")[0]
        detail = ", ".join(part for part in (packet, again) if part)
        self._lanes[host, "to"].marks.append(Mark(record.t, "fault", label, detail=detail))
