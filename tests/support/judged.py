"""A small job for tests of verdicts: its plan, the history of a good run of it, and the capture of one.

Three workers, PMTU 256, messages of 3 packets, window 2, a hello, two iterations of 288 elements: messages 0 (hello, 1
packet), 1 and 3 (3 packets, 188 elements), 2 and 4 (2 packets, 100 elements). PSNs wrap inside message 1.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.captures.capture import PcapngTap
from testbed.checkers.context import CheckContext
from testbed.faults.model import Fault
from testbed.history import Record
from testbed.plan import Plan, make_plan
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from tests.support.records import a_record, event_with, held
from topologies import LinkShape, rack
from workloads.config import WorkloadConfig
from workloads.machine import FrameBatch
from workloads.wire import Aeth, Bth, ImmDt, Opcode, Packet, Reth, encode_packet, psn_add

MTU, FULL, ELEMENTS, ITERATIONS = 256, 3, 288, 2
FIRST_PSN = 0xFFFFFE
MESSAGES = (1, 3, 2, 3, 2)
"""packets of each"""
SPANS = (None, (0, 188), (188, 288), (0, 188), (188, 288))
"""elements of the gradient that each message carries"""


def small_plan(
    *faults: Fault,
    hosts: int = 3,
    protocol: str = "netreduce",
    program: str = "netreduce",
    dtype: str = "float32",
    op: str = "sum",
    capture: bool = True,
    credit: str = "both",
    expect: str = "pass",
) -> Plan:
    job = Job(
        protocol=protocol, dtype=dtype, op=op, size_bytes=4 * ELEMENTS, iterations=ITERATIONS, message_packets=FULL,
        window_messages=2, credit=credit,
    )  # fmt: skip
    shape = LinkShape()
    return make_plan(
        Scenario(
            name="small",
            topology=rack(hosts, shape),
            link=shape,
            seed=3,
            transport=Transport(path_mtu=MTU, start_psn=FIRST_PSN),
            switch=SwitchOptions(program=program),
            job=job,
            faults=faults,
            capture=capture,
            expect=expect,
            dilation=1,
        )
    )


class FakeSource:
    """Gradients that depend on the totals applied so far, as those of a model in training do."""

    def __init__(self, config: WorkloadConfig, rank: int, size: int, dtype: str) -> None:
        self._config, self._rank, self._dtype, self._drift = config, rank, dtype, 0.0

    def gradient(self, iteration: int) -> NDArray[Any]:
        draw = np.random.default_rng((self._config.seed, self._rank, iteration))
        if self._dtype == "float32":
            return (draw.standard_normal(self._config.elements) + self._drift).astype(np.float32)
        return draw.integers(-(2**31), 2**31, self._config.elements, np.int64).astype(np.int32)

    def apply(self, iteration: int, total: NDArray[Any]) -> None:
        self._drift += float(total[0]) if total.size else 0.0


def good_totals(plan: Plan) -> list[NDArray[np.float32]]:
    """The sums of the small job, element by element in plain Python."""
    sources = [FakeSource(w.workload, r, len(plan.workers), "float32") for r, w in enumerate(plan.workers)]
    totals = []
    for iteration in range(ITERATIONS):
        gradients = [source.gradient(iteration) for source in sources]
        total = np.empty(ELEMENTS, np.float32)
        for index in range(ELEMENTS):
            value = gradients[0][index]
            for gradient in gradients[1:]:
                value = np.float32(value + gradient[index])
            total[index] = value
        totals.append(total)
        for source in sources:
            source.apply(iteration, total)
    return totals


def good_history(plan: Plan) -> list[Record]:
    """Everything that a run of the small job without trouble tells, 0.1 ms apart."""
    names = [worker.name for worker in plan.workers]
    totals = good_totals(plan)
    records: list[Record] = []

    def tell(node: str, event: str, **fields: Any) -> None:
        records.append(a_record(100_000 * len(records), node, event, **fields))

    for name in (*names, "s1"):
        tell(name, "NodeStarted", role="switch" if name == "s1" else "host", backend="native")
    tell("world", "TrafficStarted", nodes=len(names) + 1)
    received = dict.fromkeys(names, 0)
    for message, packets in enumerate(MESSAGES):
        iteration, part = divmod(message - 1, 2)
        if part == 0 and message:
            for name in names:
                tell(name, "CollectiveStarted", iteration=iteration, bytes=4 * ELEMENTS, messages=2)
        for name in names:
            tell(name, "MessagePosted", message=message, received=received[name], acked=received[name])
        tell(
            "s1", "MessageAggregated", ring_id=1, message=message, packets=packets, contributions=[packets] * len(names)
        )
        span = SPANS[message]
        data = totals[iteration][slice(*span)].tobytes() if span else b""
        for name in names:
            tell(name, "MessageReceived", message=message, crc32=zlib.crc32(data))
            tell(name, "MessageAcked", message=message)
            received[name] += 1
        if message and part == 1:
            digest = hashlib.sha256(totals[iteration].tobytes()).hexdigest()
            for name in names:
                whole_at = 100_000 * len(records)
                tell(
                    name, "CollectiveCompleted", iteration=iteration, sha256=digest, bytes=4 * ELEMENTS,
                    completed_ns=whole_at,
                )  # fmt: skip
    for name in names:
        tell(name, "WorkerFinished", iterations=ITERATIONS)
    for name in names:
        tell(
            name, "RcStatistics", qpn=1, packets_sent=11, packets_retransmitted=0, packets_received=11,
            duplicates_received=0, acks_sent=5, acks_received=5, naks_sent=0, naks_received=0, rnr_naks_received=0,
            timeouts=0, icrc_errors=0,
        )  # fmt: skip
    tell("s1", "SlotsAtEnd", ring_id=1, slots=12, open=0, peak_occupied=6)
    for name in (*names, "s1"):
        tell(
            name, "PlaneStatistics", frames_in=20, frames_out=20, bytes_in=5000, bytes_out=5000, socket_drops=0,
            queue_drops=0, cpu_ns=10_000_000, wall_ns=1_000_000_000, wakeups=9, lag_p99_ns=200_000, lag_max_ns=300_000,
            deadlines=100, peak_rss_bytes=60_000_000,
            batches=9, largest_batch=4, waited_ns=3_000_000, turns=30,
        )  # fmt: skip
    for name in (*names, "s1"):
        tell(name, "NodeExited", status=0, expected=True, output="")
    return records


def good_context(*faults: Fault, captures: Iterable[Path] = (), **options: Any) -> CheckContext:
    plan = small_plan(*faults, **options)
    return CheckContext(plan, good_history(plan), tuple(captures))


def without(history: Iterable[Record], event: str, **fields: Any) -> list[Record]:
    """The history less the records of `event` whose fields are these."""
    return [record for record in history if not matches(record, event, **fields)]


def altered(history: Iterable[Record], event: str, change: dict[str, Any], **fields: Any) -> list[Record]:
    """The history with `change` made to the records of `event` whose fields are these."""
    return [event_with(record, **change) if matches(record, event, **fields) else record for record in history]


def matches(record: Record, event: str, **fields: Any) -> bool:
    return record.name == event and all(held(record, name) == value for name, value in fields.items())


def changed(context: CheckContext, history: Iterable[Record]) -> CheckContext:
    """The same run with another history."""
    return CheckContext(context.plan, list(history), context.captures)


def restarted(history: list[Record], node: str, at: int) -> list[Record]:
    """The history, with `node` starting anew before the record `at`, and all that it told before told again behind
    it."""
    before = [record for record in history[:at] if record.node == node]
    life = a_record(history[at].t, node, "NodeExited", status=-9, expected=True, output="")
    return [*history[:at], life, *before, *history[at:]]


@dataclass(frozen=True)
class Step:
    """One frame of a capture."""

    outgoing: bool
    port: int
    frame: bytes
    tag: tuple[str, int, int]
    """(data, result, ack or nak; rank of the connection; packet of the connection, from 0)"""
    lost: str = ""


class Frames:
    """Frames of the small job's connections."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.size = len(plan.workers)

    def data(
        self, rank: int, offset: int, fill: int | None = None, *, elements: bytes | None = None, **bth: int
    ) -> bytes:
        """Packet `offset` of connection `rank`; it carries its part of `elements`, those of its message, or else
        nothing but bytes `fill`: the rank's own unless given."""
        message, packet = place(offset)
        packets, worker = MESSAGES[message], self.plan.workers[rank]
        span = SPANS[message]
        length = 16 + 4 * (span[1] - span[0]) if span else 16
        size = min(MTU, length - packet * MTU)
        payload = bytes([0x10 + rank if fill is None else fill]) * size
        if elements is not None:
            payload = (bytes(16) + elements)[packet * MTU : packet * MTU + size]
        if packet == 0:
            header = bytes([0xA7, 1, 0, 1, 0, 1, rank, self.size]) + message.to_bytes(4, "big")
            payload = header + packets.to_bytes(2, "big") + bytes(2) + payload[16:]
        opcode = (
            Opcode.WRITE_ONLY_IMM if packets == 1
            else (Opcode.WRITE_FIRST if packet == 0 else Opcode.WRITE_LAST_IMM if packet == packets - 1
                  else Opcode.WRITE_MIDDLE)
        )  # fmt: skip
        last = packet == packets - 1
        fields = {
            "opcode": opcode,
            "dest_qpn": worker.to_successor.peer_qpn,
            "psn": psn_add(worker.to_successor.first_psn, offset),
            "ack_req": int(last),
            **bth,
        }
        return encode_packet(
            Packet(
                worker.to_successor.envelope,
                Bth(**fields),
                payload,
                reth=Reth(0x1000, 7, length) if packet == 0 else None,
                imm=ImmDt(message) if last else None,
            )
        )

    def answer(self, rank: int, offset: int, syndrome: int = 0x1F, msn: int = 0) -> bytes:
        """Of connection `rank`, from its receiver."""
        queue_pair = self.plan.workers[(rank + 1) % self.size].from_predecessor
        psn = psn_add(self.plan.workers[rank].to_successor.first_psn, offset)
        return encode_packet(
            Packet(queue_pair.envelope, Bth(Opcode.ACKNOWLEDGE, queue_pair.peer_qpn, psn), aeth=Aeth(syndrome, msn))
        )


def place(offset: int) -> tuple[int, int]:
    """(message, packet of it)."""
    for message, packets in enumerate(MESSAGES):
        if offset < packets:
            return message, offset
        offset -= packets
    raise IndexError(offset)


def good_capture(plan: Plan) -> list[Step]:
    """The whole small job on the wire, in lockstep: results are bytes 0x7e, or what came through a plain switch."""
    frames, size = Frames(plan), len(plan.workers)
    plain = plan.scenario.switch.program == "forward"
    steps: list[Step] = []
    for offset in range(sum(MESSAGES)):
        message, packet = place(offset)
        steps += [Step(False, rank, frames.data(rank, offset), ("data", rank, offset)) for rank in range(size)]
        for rank in range(size):
            result = frames.data(rank, offset, None if plain else 0x7E)
            steps.append(Step(True, (rank + 1) % size, result, ("result", rank, offset)))
        if packet == MESSAGES[message] - 1:
            for rank in range(size):
                steps += passing_answer(rank, size, frames.answer(rank, offset, msn=message + 1), ("ack", rank, offset))
    return steps


def with_sums(plan: Plan, steps: Iterable[Step]) -> list[Step]:
    """The capture, whose results are the sums that `good_history` tells."""
    frames, totals = Frames(plan), good_totals(plan)
    per_iteration = sum(span is not None for span in SPANS) // len(totals)

    def result(step: Step) -> Step:
        _, rank, offset = step.tag
        message, _ = place(offset)
        span = SPANS[message]
        if step.tag[0] != "result" or span is None:
            return step
        total = totals[(message - 1) // per_iteration]
        return replace(step, frame=frames.data(rank, offset, elements=total[span[0] : span[1]].tobytes()))

    return [result(step) for step in steps]


def passing_answer(rank: int, size: int, frame: bytes, tag: tuple[str, int, int]) -> list[Step]:
    """From the receiver of connection `rank` to its sender."""
    return [Step(False, (rank + 1) % size, frame, tag), Step(True, rank, frame, tag)]


def index_of(steps: list[Step], kind: str, rank: int, offset: int, *, outgoing: bool | None = None) -> int:
    return next(
        number
        for number, step in enumerate(steps)
        if step.tag == (kind, rank, offset) and outgoing in (None, step.outgoing)
    )


def edited(steps: list[Step], at: int, change: Callable[[bytes], bytes]) -> list[Step]:
    return [*steps[:at], replace(steps[at], frame=change(steps[at].frame)), *steps[at + 1 :]]


def inserted(steps: list[Step], at: int, *more: Step) -> list[Step]:
    return [*steps[:at], *more, *steps[at:]]


def write_capture(plan: Plan, steps: Iterable[Step], folder: Path) -> Path:
    path = folder / "s1.pcapng"
    path.unlink(missing_ok=True)
    tap = PcapngTap(path, [link.name for link in plan.scenario.topology.links])
    for number, step in enumerate(steps):
        if step.lost:
            tap.dropped(step.port, step.frame, number * 1000, step.outgoing, step.lost)
            continue
        batch = FrameBatch.of(1, 2048)
        batch.append(step.port, step.frame)
        tap.record(batch, 0, 1, number * 1000, step.outgoing)
    tap.close()
    return path
