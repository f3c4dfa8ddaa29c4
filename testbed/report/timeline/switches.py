"""What became of messages and slots in switches."""

from __future__ import annotations

from switch_nodes.events import MessageAggregated, MessageInferred, PacketIgnored, ResultReplayed, SlotStepped
from testbed.history import Record
from testbed.history.events import NodeExited
from testbed.report.timeline.dispatch import RecordReader, reads
from testbed.report.timeline.model import Lane, Mark, MessageLife, Span
from testbed.report.timeline.naming import Names
from workloads.events import MessagePosted, MessageReceived

__all__ = ["SwitchReader"]

_CAUSES = {
    "new": ("post", "contribution"),
    "completing": ("sum", "last contribution: sum"),
    "repeat": ("ignored", "repeated"),
    "repeat_answered": ("replay", "repeated, result replayed"),
    "reclaim": ("turn", "reclaimed"),
}


class SwitchReader(RecordReader):
    """`marks` per switch; `slots` by (switch, number), from a trace; `lives` of messages."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.marks: dict[str, list[Mark]] = {switch: [] for switch in names.switches}
        self.slots: dict[tuple[str, int], Lane] = {}
        self._live: dict[tuple[str, int], MessageLife] = {}
        self._ended: list[MessageLife] = []
        self._open: dict[tuple[str, int], tuple[int, str, int, set[int]]] = {}
        """(switch, slot) -> (since, state, message, ranks that contributed)"""
        self._posted: dict[int, int] = {}
        self._received: dict[int, int] = {}
        self._traced = False
        self._rows: dict[str, list[int]] = {}
        """time when the newest message of each row was over, per switch"""

    def lives(self) -> list[MessageLife]:
        return sorted((*self._ended, *self._live.values()), key=lambda life: (life.node, life.message, life.first))

    def close(self, stop: int) -> None:
        for (node, slot), (since, state, message, ranks) in self._open.items():
            missing = self._missing(ranks) if state == "open" else ""
            title = f"message {message}, {state}{missing and f', lacks {missing}'}"
            self.slots[node, slot].spans.append(Span(since, stop, state, title))
            life = self._live.get((node, message))
            if missing and life is not None and not life.missing:
                life.missing = f"slot {slot} lacks {missing}"
        self._arrange(stop)

    def _arrange(self, stop: int) -> None:
        """Rows such that messages of one row do not overlap; without trace, when the last host had the result."""
        for life in self.lives():
            if not self._traced and life.complete is not None and life.gone is None:
                life.gone, life.how = max(self._received.get(life.message, life.complete), life.complete), "received"
            rows = self._rows.setdefault(life.node, [])
            row = next((row for row, over in enumerate(rows) if over <= life.first), len(rows))
            if row == len(rows):
                rows.append(0)
            rows[row] = stop + 1 if life.gone is None else life.gone
            life.row = row

    def _life(self, record: Record, message: int) -> MessageLife:
        key = record.node, message
        life = self._live.get(key)
        if life is None:
            first = record.t if self._traced else min(record.t, self._posted.get(message, record.t))
            life = self._live[key] = MessageLife(record.node, message, first, record.t)
        life.last = record.t
        return life

    def _count(
        self, record: Record[MessageInferred | PacketIgnored | ResultReplayed], what: str, kind: str, label: str
    ) -> None:
        message, offset = record.event.message, record.event.offset
        life = self._live.get((record.node, message))
        if life is None and message in self._posted and not self._traced:  # a trace tells when a message came in
            life = self._life(record, message)
        if life is not None:
            life.last = record.t
            life.counts[what] = life.counts.get(what, 0) + 1
        sender = self._host(record.event.rank)
        detail = f"packet {offset} of {sender}" if offset >= 0 else f"of {sender}"
        self.marks.setdefault(record.node, []).append(Mark(record.t, kind, label, message, detail))

    @reads(MessagePosted)
    def _message_posted(self, record: Record[MessagePosted]) -> None:
        self._posted.setdefault(record.event.message, record.t)

    @reads(MessageReceived)
    def _message_received(self, record: Record[MessageReceived]) -> None:
        self._received[record.event.message] = record.t

    @reads(MessageAggregated)
    def _message_aggregated(self, record: Record[MessageAggregated]) -> None:
        self._life(record, record.event.message).complete = record.t
        self.marks.setdefault(record.node, []).append(Mark(record.t, "sum", "sum", record.event.message))

    @reads(MessageInferred)
    def _message_inferred(self, record: Record[MessageInferred]) -> None:
        self._count(record, "inferred", "inferred", "FIRST missing, placed by inference")

    @reads(PacketIgnored)
    def _packet_ignored(self, record: Record[PacketIgnored]) -> None:
        self._count(record, record.event.reason, "ignored", f"ignored ({record.event.reason})")

    @reads(ResultReplayed)
    def _result_replayed(self, record: Record[ResultReplayed]) -> None:
        self._count(record, "replayed", "replay", "result replayed")

    @reads(SlotStepped)
    def _slot_stepped(self, record: Record[SlotStepped]) -> None:
        self._traced = True
        node, slot, cause, message = record.node, record.event.slot, record.event.cause, record.event.message
        lane = self.slots.get((node, slot))
        if lane is None:
            lane = self.slots[node, slot] = Lane(f"{node} slot {slot}", node, slot=slot)
        kind, label = _CAUSES.get(cause, ("ignored", f"ignored ({cause})"))
        rank = record.event.rank
        detail = f"of {self._host(rank)}" if rank >= 0 else ""
        state, after = record.event.state, record.event.next
        arrow = f", {state} -> {after}" if state != after else ""
        lane.marks.append(Mark(record.t, kind, f"{label}{arrow}", message, detail))
        before = self._open.get((node, slot))
        if state != after:
            if before is not None:
                lane.spans.append(Span(before[0], record.t, before[1], f"message {before[2]}, {before[1]}"))
            if after == "empty":
                self._open.pop((node, slot), None)
            else:
                self._open[node, slot] = record.t, after, message, {rank} | (before[3] if before else set())
        elif before is not None and cause == "new":
            before[3].add(rank)
        if cause == "reclaim":
            if state != "empty":
                life = self._life(record, message)
                life.gone, life.how = record.t, "reclaimed"
        elif cause in ("new", "completing"):
            self._life(record, message)

    @reads(NodeExited)
    def _node_exited(self, record: Record[NodeExited]) -> None:
        """What a switch knew is gone."""
        node = record.node
        if record.event.status == 0 or node in self._names.hosts:
            return
        for key in [key for key in self._live if key[0] == node]:
            life = self._live.pop(key)
            self._ended.append(life)
            if life.gone is None:
                life.gone, life.how = record.t, "lost"
        for key in [key for key in self._open if key[0] == node]:
            since, state, message, _ = self._open.pop(key)
            self.slots[key].spans.append(Span(since, record.t, state, f"message {message}, {state}, then lost"))

    def _host(self, rank: int) -> str:
        hosts = self._names.hosts
        return hosts[rank] if 0 <= rank < len(hosts) else f"rank {rank}"

    def _missing(self, ranks: set[int]) -> str:
        return ", ".join(host for rank, host in enumerate(self._names.hosts) if rank not in ranks)
