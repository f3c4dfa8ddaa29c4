"""RC connections of a ring without packets: messages are delivered and acknowledged when a test says so.

Checks what a real endpoint relies on: bytes of a posted message stay as they are until its acknowledgement, receives
are there or the message waits, and an RDMA WRITE lands in registered memory only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from workloads.collectives.arithmetic import fold
from workloads.collectives.base import Collective
from workloads.collectives.ina_header import INA_HEADER_BYTES
from workloads.config import ArithmeticSpec, CollectiveConfig, QpConfig, WorkerConfig, WorkloadConfig
from workloads.rc import SUCCESS, ReceiveCompleted, ReceiveRequest, SendCompleted, SendRequest
from workloads.wire import Envelope

SEND_QPN, RECEIVE_QPN = 1, 2


def worker_config(
    rank: int, size: int, *, path_mtu: int = 256, straggle_ns: int = 0, **collective: object
) -> WorkerConfig:
    """A worker of a ring on the fake fabric; every rank's memory begins at the same address."""
    envelope = Envelope(bytes(6), bytes(6), bytes(4), bytes(4))

    def qp(qpn: int, peer: int) -> QpConfig:
        return QpConfig(qpn=qpn, peer_qpn=peer, envelope=envelope, first_psn=0, peer_first_psn=0, path_mtu=path_mtu)

    options = {
        "kind": "netreduce", "ring_id": 7, "message_packets": 2, "base_va": 4096, "peer_base_va": 4096, "rkey": 5,
        "peer_rkey": 5, **collective,
    }  # fmt: skip
    return WorkerConfig(
        name=f"h{rank + 1}",
        to_successor=qp(SEND_QPN, RECEIVE_QPN),
        from_predecessor=qp(RECEIVE_QPN, SEND_QPN),
        collective=CollectiveConfig(rank=rank, size=size, **options),  # type: ignore[arg-type]
        workload=WorkloadConfig("synthetic", 1, 1, 1, straggle_ns),
    )


@dataclass
class FakeVerbs:
    """The endpoint of one rank: what was posted, in order."""

    sent: list[SendRequest] = field(default_factory=list)
    receives: list[ReceiveRequest] = field(default_factory=list)
    receives_at_send: list[int] = field(default_factory=list)
    """how many receives had been posted when each message was"""
    images: list[bytes] = field(default_factory=list)
    """each message's bytes when it was posted"""
    memory: dict[int, tuple[int, memoryview]] = field(default_factory=dict)

    def register_memory(self, rkey: int, base_va: int, memory: memoryview, *, endless: bool = False) -> None:
        self.memory[rkey] = base_va, memory

    def post_send(self, qpn: int, request: SendRequest, now: int) -> None:
        assert qpn == SEND_QPN
        self.sent.append(request)
        self.images.append(b"".join(request.segments))
        self.receives_at_send.append(len(self.receives))

    def post_receives(self, qpn: int, requests: Sequence[ReceiveRequest]) -> None:
        assert qpn == RECEIVE_QPN
        self.receives.extend(requests)

    def outstanding_packets(self, qpn: int) -> int:
        return 0


class FakeFabric:
    """Connection k goes from rank k to rank k+1. `aggregate`: messages pass a switch that folds them."""

    def __init__(self, verbs: list[FakeVerbs], aggregate: ArithmeticSpec | None) -> None:
        self.verbs, self._aggregate, size = verbs, aggregate, len(verbs)
        self.machines: list[Collective] = []
        self._delivered = [0] * size
        self._early = [-1] * size
        self._acks: list[deque[int]] = [deque() for _ in range(size)]

    def deliverable(self) -> list[tuple[str, int]]:
        """What may happen next: ("data", connection), ("ack", connection), or ("early", connection): a WRITE has
        reached the memory, but its last packet finds no receive (an RNR NAK), so that nobody is told yet."""
        moves = []
        for k, verbs in enumerate(self.verbs):
            message = self._delivered[k]
            there = all(len(other.sent) > message for other in self.verbs) if self._aggregate else True
            receiver = self.verbs[(k + 1) % len(self.verbs)]
            if there and message < len(verbs.sent):
                if message < len(receiver.receives):
                    moves.append(("data", k))
                elif verbs.sent[message].remote_va is not None and self._early[k] < message:
                    moves.append(("early", k))
            if self._acks[k]:
                moves.append(("ack", k))
        return moves

    def move(self, what: str, k: int) -> None:
        {"data": self._data, "ack": self._ack, "early": self._write}[what](k)

    def _write(self, k: int) -> None:
        """An RDMA WRITE lands where it says, whether the receiver is ready or not."""
        message = self._early[k] = self._delivered[k]
        request, data = self.verbs[k].sent[message], self._payload(k, message)
        base, memory = self.verbs[(k + 1) % len(self.verbs)].memory[request.rkey]
        assert request.remote_va is not None
        at = request.remote_va - base
        assert at >= 0
        assert at + len(data) <= len(memory)
        memory[at : at + len(data)] = data

    def _data(self, k: int) -> None:
        message = self._delivered[k]
        request, to = self.verbs[k].sent[message], (k + 1) % len(self.verbs)
        data = self._payload(k, message)
        receive = self.verbs[to].receives[message]
        if request.remote_va is None:
            assert receive.memory is not None
            receive.memory[: len(data)] = data
        else:
            self._write(k)
        self._delivered[k] += 1
        self._acks[k].append(message)
        self.machines[to].on_received(ReceiveCompleted(RECEIVE_QPN, receive.wr_id, request.imm, len(data)), 0)

    def _payload(self, k: int, message: int) -> bytes:
        own = self.verbs[k].images[message]
        if self._aggregate is None:
            return own
        parts = [np.frombuffer(verbs.images[message][INA_HEADER_BYTES:], np.uint8) for verbs in self.verbs]
        return own[:INA_HEADER_BYTES] + fold(np.stack(parts), self._aggregate).tobytes()

    def _ack(self, k: int) -> None:
        message = self._acks[k].popleft()
        verbs = self.verbs[k]
        assert b"".join(verbs.sent[message].segments) == verbs.images[message], "a message changed before its ACK"
        self.machines[k].on_sent(SendCompleted(SEND_QPN, verbs.sent[message].wr_id, SUCCESS), 0)
