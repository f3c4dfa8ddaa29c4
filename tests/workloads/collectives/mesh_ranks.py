"""The ranks of a mesh in one process: a connection hands over each message when the receiver has posted a receive, in a
drawn order; nothing is lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np

from tests.support.fake_fabric import worker_config
from workloads.collectives.meshed import MeshCollective
from workloads.config import CHANNEL, ArithmeticSpec, MeshTask, PhaseConfig, WorkerConfig
from workloads.events import CollectiveCompleted
from workloads.machine import Event
from workloads.rc import SUCCESS, ReceiveCompleted, ReceiveRequest, SendCompleted, SendRequest

__all__ = ["MeshRanks", "mesh_config"]

MTU = 256


def _qpn(source: int, target: int, *, receives: bool) -> int:
    return 1000 * (source + 1) + 10 * target + receives


def mesh_config(
    rank: int,
    size: int,
    task: MeshTask | None = None,
    *,
    message_packets: int = 2,
    arithmetic: ArithmeticSpec | None = None,
) -> WorkerConfig:
    """Of a rank whose whole job runs over the mesh."""
    phases = []
    for peer in range(size):
        if peer == rank:
            continue
        ring = worker_config(
            int(rank > peer), 2, path_mtu=MTU, kind=CHANNEL, phase=f"{min(rank, peer)}_{max(rank, peer)}", hello=False,
            rkey=100 * rank + peer, peer_rkey=100 * peer + rank, message_packets=message_packets,
        )  # fmt: skip
        phases.append(
            PhaseConfig(
                replace(ring.to_successor, qpn=_qpn(rank, peer, receives=False)),
                replace(ring.from_predecessor, qpn=_qpn(rank, peer, receives=True)),
                ring.collective, 0, 1, 0,
            )
        )  # fmt: skip
    whole = worker_config(rank, size, path_mtu=MTU, kind="mesh", message_packets=message_packets)
    collective = replace(whole.collective, task=task, arithmetic=arithmetic or whole.collective.arithmetic)
    return replace(whole, collective=collective, phases=tuple(phases))


class _Wires:
    """Verbs of one rank."""

    def __init__(self) -> None:
        self.memory: dict[int, memoryview] = {}
        self.sent: list[tuple[int, SendRequest]] = []
        self.receives: dict[int, int] = {}

    def register_memory(self, rkey: int, base_va: int, memory: memoryview, *, endless: bool = False) -> None:
        self.memory[rkey] = memory

    def post_send(self, qpn: int, request: SendRequest, now: int) -> None:
        self.sent.append((qpn, request))

    def post_receives(self, qpn: int, requests: Sequence[ReceiveRequest]) -> None:
        self.receives[qpn] = self.receives.get(qpn, 0) + len(requests)

    def outstanding_packets(self, qpn: int) -> int:
        return 0


class MeshRanks:
    """`size` ranks. `seed`: of the order in which connections hand over, and of how late they acknowledge."""

    def __init__(self, size: int, seed: int = 0, task: MeshTask | None = None, **config: object) -> None:
        self.draw, self.size = Random(seed), size
        self.wires = [_Wires() for _ in range(size)]
        self.configs = [mesh_config(rank, size, task, **config) for rank in range(size)]  # type: ignore[arg-type]
        self.ranks = [
            MeshCollective(config, wires, config.phases, 1 << 40)
            for config, wires in zip(self.configs, self.wires, strict=True)
        ]
        self.events: list[tuple[int, Event]] = []
        self._ways: dict[tuple[int, int], deque[tuple[SendRequest, bytes]]] = {}
        """with what the messages held when they were posted"""
        self._acks: dict[tuple[int, int], deque[tuple[SendRequest, bytes]]] = {}
        self.now = 0
        for rank in self.ranks:
            rank.open(0)

    def run(self, tasks: list[MeshTask] | None, vectors: list[np.ndarray], iteration: int = 0) -> list[np.ndarray]:
        """One operation from its start at every rank, in a drawn order, to its end: the results. `tasks`: by rank."""
        room = max((len(vector) for vector in vectors), default=0)
        held = 0 if tasks is None else max((sum(task.takes) for task in tasks), default=0)
        longest = max(room, held) + self.size
        results = [np.full(longest, 77, vectors[0].dtype) for _ in vectors]
        late = self.draw.sample(range(self.size), self.size)
        while late or not all(rank.idle for rank in self.ranks) or self._under_way:
            choices = [("start", late[0])] if late else []
            choices += [("hand over", way) for way, queue in self._ways.items() if queue and self._has_receive(way)]
            choices += [("acknowledge", way) for way, queue in self._acks.items() if queue]
            assert choices or self._tick(), "no rank can go on"
            if not choices:
                continue
            what, which = self.draw.choice(choices)
            self.now += 1
            if what == "start":
                late.pop(0)
                if tasks is not None:
                    self.ranks[which].task = tasks[which]
                self.ranks[which].start(iteration, vectors[which], results[which], self.now)
            elif what == "hand over":
                self._hand_over(which)
            else:
                source, target = which
                request, image = self._acks[which].popleft()
                assert b"".join(request.segments) == image, "a retransmission would have carried something else"
                done = SendCompleted(_qpn(source, target, receives=False), request.wr_id, SUCCESS)
                self.ranks[source].on_sent(done, self.now)
            self._collect()
            self._tick()
        return results

    @property
    def _under_way(self) -> bool:
        return any(self._ways.values()) or any(self._acks.values())

    def digests(self, iteration: int = 0) -> dict[int, str]:
        return {
            rank: event.sha256
            for rank, event in self.events
            if isinstance(event, CollectiveCompleted) and event.iteration == iteration
        }

    def _has_receive(self, way: tuple[int, int]) -> bool:
        return self.wires[way[1]].receives.get(_qpn(way[1], way[0], receives=True), 0) > 0

    def _hand_over(self, way: tuple[int, int]) -> None:
        source, target = way
        (request, data), qpn = self._ways[way].popleft(), _qpn(target, source, receives=True)
        self.wires[target].receives[qpn] -= 1
        memory = self.wires[target].memory[100 * target + source]
        assert request.remote_va is not None
        at = request.remote_va - self.configs[target].phases[0].collective.base_va
        memory[at : at + len(data)] = data
        self._acks.setdefault(way, deque()).append((request, data))
        assert request.imm is not None
        self.ranks[target].on_received(ReceiveCompleted(qpn, request.wr_id, request.imm, len(data)), self.now)

    def _collect(self) -> None:
        for number, (rank, wires) in enumerate(zip(self.ranks, self.wires, strict=True)):
            for qpn, request in wires.sent:
                target = qpn % 1000 // 10
                self._ways.setdefault((number, target), deque()).append((request, b"".join(request.segments)))
            wires.sent.clear()
            while (event := rank.next_event()) is not None:
                self.events.append((number, event))
            assert rank.problem is None, rank.problem

    def _tick(self) -> bool:
        ticked = False
        for rank in self.ranks:
            due = rank.get_timer()
            if due is not None and due <= self.now + 10**12:
                rank.handle_timer(self.now + 10**12)
                ticked = True
        self._collect()
        return ticked
