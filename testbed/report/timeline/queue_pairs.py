"""Lanes of queue pairs, and of what happened to nodes and links."""

from __future__ import annotations

from dataclasses import replace

from testbed.faults.events import FaultHealed, FaultStruck
from testbed.history import Record
from testbed.history.events import NodeExited, RealLimitReached, TimeLimitReached
from testbed.report.timeline.dispatch import RecordReader, reads
from testbed.report.timeline.model import Lane, Mark, Span
from testbed.report.timeline.naming import Names
from testbed.terminal.numbers import moment
from workloads.events import (
    CollectiveCompleted,
    CollectiveStarted,
    FrameRejected,
    MessageAcked,
    MessagePosted,
    MessageReceived,
    NakSent,
    QpFailed,
    QpStepped,
    Retransmission,
    RnrNakSent,
    TrimmedCame,
    WorkerFailed,
)
from workloads.rc.words import packet_text

__all__ = ["QpReader"]

_BACK = {
    "timeout": ("timeout", "timer ran out, back"),
    "nak": ("back", "NAK came, back"),
    "rnr": ("back", "RNR wait over, back"),
    "trimmed": ("back", "it was trimmed, again"),
}
_SYNDROMES = {0x60: "NAK (PSN sequence)", 0x61: "NAK (invalid request)", 0x62: "NAK (access)", 0x63: "NAK (error)"}
_STEPPED = {"timeout", "back", "nak", "fail"}
"""marks of a step of a table, which the history reports right behind"""
_ORDINARY = {"post", "ack_some", "ack_all", "ack_stale", "first", "middle", "last", "only"}
_SHOWN_STATES = {
    "sending": "sending", "retrying": "retrying", "rnr_wait": "rnr_wait", "error": "error",
    "expect_first_gap": "gap", "in_message_gap": "gap",
}  # fmt: skip


class QpReader(RecordReader):
    """`lanes`: two per host. `faults` gets the rest."""

    def __init__(self, names: Names, faults: Lane) -> None:
        self._names, self._faults = names, faults
        self._lanes: dict[tuple[str, str], Lane] = {}
        for host in names.hosts:
            after, before = names.neighbour(host, 1), names.neighbour(host, -1)
            self._lanes[host, "to"] = Lane(f"{host} -> {after}", host, names.qpn.get((host, "to"), -1))
            self._lanes[host, "from"] = Lane(f"{host} <- {before}", host, names.qpn.get((host, "from"), -1))
        self._states: dict[tuple[str, str], tuple[int, str]] = {}
        """(since, state) of the table, from a trace"""
        self._posted: dict[tuple[str, int], int] = {}
        self._iterations: dict[int, tuple[int, int]] = {}
        self._lasting: dict[tuple[str, str], tuple[int, int, str]] = {}
        """(fault, target) -> (first hit, newest hit, kind) of faults of nodes and links"""

    @property
    def lanes(self) -> list[Lane]:
        return list(self._lanes.values())

    def sort(self) -> None:
        """The history reports the end of an iteration after what came behind it."""
        for lane in (*self._lanes.values(), self._faults):
            lane.marks.sort(key=lambda mark: mark.t)

    def iterations(self, stop: int) -> list[Span]:
        return [
            Span(
                since,
                until if until >= 0 else stop,
                "turn",
                f"iteration {number}{'' if until >= 0 else ', not completed'}",
            )
            for number, (since, until) in sorted(self._iterations.items())
        ]

    def close(self, stop: int) -> None:
        """End what still lasts."""
        for (host, message), since in self._posted.items():
            self._lanes[host, "to"].spans.append(Span(since, stop, "flight", f"message {message}: never acknowledged"))
        for key, (since, state) in self._states.items():
            self._add_state(key, since, stop, state)
        for (fault, target), (since, last, kind) in self._lasting.items():
            self._faults.spans.append(Span(since, last, "fault", f"{kind} {fault!r} at {target}"))
        for lane in (*self._lanes.values(), self._faults):
            lane.spans.sort(key=lambda span: span.start)

    def _mark(self, record: Record, side: str, kind: str, label: str, number: int = -1, detail: str = "") -> None:
        lane = self._lanes.get((record.node, side))
        if lane is not None:
            lane.marks.append(Mark(record.t, kind, label, number, detail))

    @reads(MessagePosted)
    def _message_posted(self, record: Record[MessagePosted]) -> None:
        if (record.node, "to") in self._lanes:
            self._posted[record.node, record.event.message] = record.t
        self._mark(record, "to", "post", "post", record.event.message)

    @reads(MessageAcked)
    def _message_acked(self, record: Record[MessageAcked]) -> None:
        self._mark(record, "to", "ack", "ACK", record.event.message)
        since = self._posted.pop((record.node, record.event.message), None)
        if since is not None:
            title = f"message {record.event.message}: posted, then acknowledged"
            self._lanes[record.node, "to"].spans.append(Span(since, record.t, "flight", title))

    @reads(MessageReceived)
    def _message_received(self, record: Record[MessageReceived]) -> None:
        self._mark(record, "from", "result", "result", record.event.message)

    @reads(Retransmission)
    def _retransmission(self, record: Record[Retransmission]) -> None:
        kind, label = _BACK.get(record.event.cause, ("back", f"{record.event.cause}, back"))
        self._mark(record, "to", kind, label, detail=f"to PSN {record.event.psn}, {record.event.packets} packets again")

    @reads(NakSent)
    def _nak_sent(self, record: Record[NakSent]) -> None:
        label = _SYNDROMES.get(record.event.syndrome, f"NAK {record.event.syndrome:#04x}")
        self._mark(record, "from", "nak", label, detail=f"PSN {record.event.psn} expected")

    @reads(TrimmedCame)
    def _trimmed_came(self, record: Record[TrimmedCame]) -> None:
        self._mark(record, "from", "trimmed", "trimmed", detail=f"PSN {record.event.psn}: its headers alone")

    @reads(RnrNakSent)
    def _rnr_nak_sent(self, record: Record[RnrNakSent]) -> None:
        self._mark(record, "from", "nak", "RNR NAK", detail=f"PSN {record.event.psn}: no receive posted")

    @reads(FrameRejected)
    def _frame_rejected(self, record: Record[FrameRejected]) -> None:
        # An answer is for the sender; requests, and what nobody can read, are told where data comes in.
        side = "to" if record.event.reason == "bad_ack" or record.event.detail.startswith("ACKNOWLEDGE") else "from"
        self._mark(record, side, "reject", f"rejected ({record.event.reason})", detail=record.event.detail)

    @reads(QpFailed)
    def _qp_failed(self, record: Record[QpFailed]) -> None:
        _, side = self._names.owner.get(record.event.qpn, ("", "to"))
        detail = record.event.detail.partition(": ")[2] or record.event.detail
        self._mark(record, side, "fail", f"QP FAILS, {record.event.status}:", detail=detail)
        if (record.node, side) in self._lanes and (record.node, side) not in self._states:
            self._states[record.node, side] = record.t, "error"

    @reads(WorkerFailed)
    def _worker_failed(self, record: Record[WorkerFailed]) -> None:
        self._mark(record, "to", "fail", f"worker fails, {record.event.reason}")

    @reads(CollectiveStarted)
    def _collective_started(self, record: Record[CollectiveStarted]) -> None:
        self._mark(record, "to", "turn", f"iteration {record.event.iteration} begins")
        since, until = self._iterations.get(record.event.iteration, (record.t, -1))
        self._iterations[record.event.iteration] = min(since, record.t), until

    @reads(CollectiveCompleted)
    def _collective_completed(self, record: Record[CollectiveCompleted]) -> None:
        since, until = self._iterations.get(record.event.iteration, (record.event.completed_ns, -1))
        self._iterations[record.event.iteration] = since, max(until, record.event.completed_ns)
        lane = self._lanes.get((record.node, "from"))
        if lane is not None:
            lane.marks.append(Mark(record.event.completed_ns, "turn", f"iteration {record.event.iteration} is whole"))

    @reads(QpStepped)
    def _qp_stepped(self, record: Record[QpStepped]) -> None:
        host, side = record.node, "to" if record.event.side == "requester" else "from"
        state, cause, after = record.event.state, record.event.cause, record.event.next
        arrow = f" -> {after}" if after != state else ""
        if not self._explain(record, side, f"[{state}: {cause}{arrow}]"):
            kind = "step" if cause in _ORDINARY else "odd"
            self._mark(record, side, kind, f"{state}: {cause}{arrow}", detail=f"PSN {record.event.psn}")
        since, known = self._states.get((host, side), (record.t, state))
        if known != after:
            self._add_state((host, side), since, record.t, known)
            since = record.t
        self._states[host, side] = since, after

    def _explain(self, record: Record, side: str, step: str) -> bool:
        """Whether the step is the reason of the lane's last mark; then it is added to that mark."""
        lane = self._lanes.get((record.node, side))
        last = lane.marks[-1] if lane is not None and lane.marks else None
        if lane is None or last is None or last.t != record.t or last.kind not in _STEPPED or "[" in last.detail:
            return False
        lane.marks[-1] = replace(last, detail=f"{last.detail} {step}".lstrip())
        return True

    def _add_state(self, key: tuple[str, str], since: int, until: int, state: str) -> None:
        shown = _SHOWN_STATES.get(state)
        if shown is not None and until > since and key in self._lanes:
            self._lanes[key].spans.append(Span(since, until, shown, state))

    @reads(NodeExited)
    def _node_exited(self, record: Record[NodeExited]) -> None:
        if record.event.status != 0:
            for side in ("to", "from"):
                since, state = self._states.pop((record.node, side), (0, ""))
                self._add_state((record.node, side), since, record.t, state)
            for key in [key for key in self._posted if key[0] == record.node]:
                title = f"message {key[1]}: lost with its sender"
                self._lanes[key[0], "to"].spans.append(Span(self._posted.pop(key), record.t, "flight", title))
            why = "killed" if record.event.expected else "died"
            self._faults.marks.append(Mark(record.t, "fail", f"{record.node} {why}", detail=record.event.output))

    @reads(TimeLimitReached)
    def _time_limit_reached(self, record: Record[TimeLimitReached]) -> None:
        who = ", ".join(record.event.unfinished)
        self._faults.marks.append(Mark(record.t, "fail", "time limit", detail=f"unfinished: {who}"))

    @reads(RealLimitReached)
    def _real_limit_reached(self, record: Record[RealLimitReached]) -> None:
        who = ", ".join(record.event.unfinished)
        self._faults.marks.append(Mark(record.t, "fail", "limit of real time", detail=f"unfinished: {who}"))

    @reads(FaultStruck)
    def _fault_struck(self, record: Record[FaultStruck]) -> None:
        fault, target, kind = record.event.fault, record.event.target, record.event.kind
        if not record.event.flow or kind in ("link_down", "kill", "pause", "rate_change"):
            since, _, _ = self._lasting.get((fault, target), (record.t, 0, ""))
            self._lasting[fault, target] = since, record.t, kind
        place = f"{target} {record.event.direction}".rstrip()
        lane = self._struck(record)
        label = f"{kind} at {place}" if fault.startswith(kind) else f"{kind} {fault!r} at {place}"
        detail = ""
        if record.event.opcode >= 0:
            again = f", copy {record.event.occurrence}" if record.event.occurrence > 1 else ""
            detail = packet_text(record.event.opcode, record.event.psn) + again
        lane.marks.append(Mark(record.t, "fault", label, detail=detail))

    @reads(FaultHealed)
    def _fault_healed(self, record: Record[FaultHealed]) -> None:
        found = self._lasting.pop((record.event.fault, record.event.target), None)
        if found is not None:
            title = f"{found[2]} {record.event.fault!r} at {record.event.target}"
            for since, until in record.event.windows or [(found[0], record.t)]:
                self._faults.spans.append(Span(since, until, "fault", title))
                self._faults.marks.append(Mark(until, "turn", f"healed: {title}, since {moment(since)}"))

    def _struck(self, record: Record[FaultStruck]) -> Lane:
        """The lane of the end of the connection at whose link the fault hit the packet; else of the end that
        sent it."""
        qpn = record.event.flow.rpartition(":")[2]
        host, side = self._names.owner.get(int(qpn) if qpn.isdigit() else -1, ("", ""))
        if (host, side) not in self._lanes:
            return self._faults
        other = self._names.neighbour(host, 1 if side == "to" else -1), "from" if side == "to" else "to"
        at_receiver = host in record.event.target.split("-")
        return self._lanes[(host, side) if at_receiver else other]
