"""Lanes of a run over datagrams: a worker, a parameter server or a switch each, and the slots of switches from a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from testbed.history import Record
from testbed.report.timeline.model import Lane, Mark, Span
from testbed.report.timeline.naming import Names
from testbed.report.timeline.queue_pairs import QpReader
from workloads.events import DatagramStatistics

__all__ = ["DatagramReader", "is_over_datagrams"]

_SIGNS = {
    "BlockSummed", "Collided", "ContributionIgnored", "DatagramResent", "DatagramStatistics", "MemoryAtEnd", "PartialSent",
    "ServerStatistics",
}  # fmt: skip
_LASTING = {"link_down", "rate_change"}
_RESENT = {"timeout": "timeout"}
"""kind of mark by cause; of others: back"""
_LEFT = {"complete": "sum", "repeated": "replay"}
"""kind of mark by the reason for which a sum left its slot; of others: back"""
_STATES = {"filling": "open", "done": "done"}
_MOVES = {"replayed": "replay", "duplicate": "ignored", "repeat": "ignored", "other": "odd", "other_lower": "back"}


def is_over_datagrams(history: Sequence[Record]) -> bool:
    """Whether its workers talk to slots of a switch or to a parameter server, not over connections."""
    return any(record["event"] in _SIGNS for record in history)


class DatagramReader(QpReader):
    """One lane for each node; `slots` by (switch, slot, version). Marks name their block in the detail."""

    def __init__(self, names: Names, faults: Lane, history: Sequence[Record]) -> None:
        super().__init__(names, faults)
        self.slots: dict[tuple[str, int, int], Lane] = {}
        self._servers: set[str] = set()
        jobs: dict[str, list[int]] = {}
        for record in history:
            node, event = record["node"], record["event"]
            if node in names.hosts and event in _SIGNS:
                known = jobs.setdefault(node, [])
                known += [] if record["job"] in known else [record["job"]]
                if event in ("BlockSummed", "ServerStatistics"):
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

    def close(self, stop: int) -> None:
        for host, (since, number) in self._turns.items():
            if (host, "to") in self._lanes:
                self._lanes[host, "to"].spans.append(Span(since, stop, "turn", f"iteration {number}, not completed"))
        for key, (since, state, block) in self._open.items():
            self.slots[key].spans.append(Span(since, stop, state, f"{block}, {state}"))
        super().close(stop)

    def _tell(self, record: Record, kind: str, label: str, more: str = "") -> None:
        block = f"block {record['block']}" if record["block"] >= 0 else ""
        job = f"of job {record['job']}" if record["job"] >= 0 else ""
        self._mark(record, "to", kind, label, detail=" ".join(part for part in (block, job, more) if part))

    def _CollectiveStarted(self, record: Record) -> None:
        self._mark(record, "to", "turn", f"iteration {record['iteration']} begins")
        self._turns[record["node"]] = record["t"], record["iteration"]

    def _CollectiveCompleted(self, record: Record) -> None:
        host, number, until = record["node"], record["iteration"], record["completed_ns"]
        since, _ = self._turns.pop(host, (until, number))
        lane = self._lanes.get((host, "to"))
        if lane is not None:
            lane.marks.append(Mark(until, "result", f"iteration {number} is whole"))
            lane.spans.append(Span(since, until, "turn", f"iteration {number}"))

    def _DatagramResent(self, record: Record) -> None:
        cause, attempt = record["cause"], record["attempt"]
        self._tell(
            record, _RESENT.get(cause, "back"), f"sent again ({cause})", f"repetition {attempt}" if attempt > 1 else ""
        )

    def _DatagramStatistics(self, record: Record) -> None:
        told = ", ".join(
            f"{record[field.name]} {field.name.replace('_', ' ')}"
            for field in fields(DatagramStatistics)
            if field.name != "job" and record.get(field.name)
        )
        self._mark(record, "to", "turn", "ends:", detail=told)

    def _WorkerFinished(self, record: Record) -> None:
        self._mark(record, "to", "turn", "has all results")

    def _FrameRejected(self, record: Record) -> None:
        self._mark(record, "to", "reject", f"rejected ({record['reason']})", detail=record["detail"])

    def _BlockSummed(self, record: Record) -> None:
        self._tell(record, "sum", "sum")

    def _PartialSent(self, record: Record) -> None:
        inside = sum(count > 0 for count in record["contributions"])
        self._tell(
            record, _LEFT.get(record["reason"], "back"), f"to the server ({record['reason']})", f"with {inside} inside"
        )

    def _Collided(self, record: Record) -> None:
        owner = f"slot {record['slot']} is that of block {record['owner_block']} of job {record['owner_job']}"
        self._tell(record, "odd", "collided", f"({owner})")

    def _BlockReplayed(self, record: Record) -> None:
        self._tell(record, "replay", "result again", "to all" if record["rank"] < 0 else f"to rank {record['rank']}")

    def _ContributionIgnored(self, record: Record) -> None:
        self._tell(
            record,
            "ignored",
            f"ignored ({record['reason']})",
            f"from rank {record['rank']}" if record["rank"] >= 0 else "",
        )

    def _BlockLost(self, record: Record) -> None:
        self._tell(record, "fail", "LOST", f"rank {record['missing']} has it no more")

    def _JobResumed(self, record: Record) -> None:
        self._tell(record, "turn", "goes on with", f"after {record['took_ns'] / 1e6:g} ms")

    def _ServerStatistics(self, record: Record) -> None:
        counts = ("blocks", "copies", "replays", "overlaps", "ignored", "reminders", "nacks", "moved", "open")
        told = ", ".join(f"{record[name]} {name}" for name in counts if record[name])
        self._mark(record, "to", "turn", f"job {record['job']} ends:", detail=f"{record['bytes_in']} bytes in, {told}")

    def _SlotChanged(self, record: Record) -> None:
        node, state, after = record["node"], record["state"], record["next"]
        arrow = f", {state} -> {after}" if after != state else ""
        block = f"block {record['block']} of job {record['job']}"
        if node in self._names.hosts:
            # A server's blocks are more than lanes could be.
            self._mark(record, "to", "step", f"{record['cause']}{arrow}", detail=block)
            return
        key = node, record["slot"], record["version"]
        lane = self.slots.get(key)
        if lane is None:
            version = f".{key[2]}" if key[2] else ""
            lane = self.slots[key] = Lane(f"{node} slot {key[1]}{version}", node, slot=key[1])
        kind = _MOVES.get(record["cause"], "step")
        lane.marks.append(Mark(record["t"], kind, f"{record['cause']}{arrow}", detail=block))
        before = self._open.get(key)
        now = _STATES.get(after)
        if before is not None and (now != before[1] or record["cause"] == "other_lower"):
            lane.spans.append(Span(before[0], record["t"], before[1], f"{before[2]}, {before[1]}"))
            self._open.pop(key)
            before = None
        if now is not None and before is None:
            self._open[key] = record["t"], now, block

    def _NodeExited(self, record: Record) -> None:
        """What a switch knew is gone."""
        super()._NodeExited(record)
        if record["status"] != 0:
            for key in [key for key in self._open if key[0] == record["node"]]:
                since, state, block = self._open.pop(key)
                self.slots[key].spans.append(Span(since, record["t"], state, f"{block}, {state}, then lost"))

    def _FaultStruck(self, record: Record) -> None:
        """A packet that was struck stands at the host at whose link it was."""
        kind, target = record["kind"], record["target"]
        host = next(
            (name for name in target.split("-") if (name, "to") in self._lanes and name in self._names.hosts), ""
        )
        if not host or not record["direction"] or kind in _LASTING:
            super()._FaultStruck(record)
            return
        place = f"{target} {record['direction']}"
        label = f"{kind} at {place}" if record["fault"].startswith(kind) else f"{kind} {record['fault']!r} at {place}"
        again = f"copy {record['occurrence']}" if record["occurrence"] > 1 else ""
        self._lanes[host, "to"].marks.append(Mark(record["t"], "fault", label, detail=again))
