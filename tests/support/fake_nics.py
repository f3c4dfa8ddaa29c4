"""RDMA devices in memory, for the verbs endpoint: messages move when a test says so, whole and in order.

Checks what a real device would: queues do not overflow, memory is registered, keys and addresses are the device's own
(drawn here so that no planned number is right by chance).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from workloads.collectives.arithmetic import fold
from workloads.collectives.ina_header import INA_HEADER_BYTES, InaHeader
from workloads.config import ArithmeticSpec, QpConfig
from workloads.verbs import Region, WorkCompletion


@dataclass
class _Message:
    wr_id: int
    memory: memoryview
    """of the sender: read when it is sent, not when it is posted"""
    imm: int | None
    target: tuple[int, int] | None

    @property
    def data(self) -> bytes:
        return bytes(self.memory)


@dataclass
class FakeQp:
    nic: FakeNic
    number: int
    config: QpConfig
    peer: int | None = None
    sends: deque[_Message] = field(default_factory=deque)
    receives: deque[tuple[int, int, int]] = field(default_factory=deque)
    """(wr_id, address, length)"""
    failed: bool = False


class FakeNic:
    def __init__(self, fabric: Fabric, name: str, ip: bytes, depth: int) -> None:
        self.fabric, self.name, self.ip, self.depth = fabric, name, ip, depth
        self.completions: deque[WorkCompletion] = deque()
        self.regions: dict[int, tuple[int, memoryview]] = {}
        """by lkey; rkeys are lkey + 1"""
        self.counted = {"sent_pkts": 0}
        self.closed = False

    def create_qp(self, config: QpConfig) -> int:
        number = self.fabric.draw(0x10)
        self.fabric.qps[self.ip, number] = FakeQp(self, number, config)
        return number

    def connect(self, qpn: int, config: QpConfig, peer_qpn: int) -> None:
        assert (config.envelope.dst_ip, peer_qpn) in self.fabric.qps, "a QPN that no device has"
        self.fabric.qps[self.ip, qpn].peer = peer_qpn

    def register(self, memory: memoryview, *, remote: bool) -> Region:
        address = int(np.frombuffer(memory, np.uint8).__array_interface__["data"][0])
        lkey = self.fabric.draw(2)
        self.regions[lkey] = address, memory
        return Region(address, lkey, lkey + 1 if remote else 0)

    def post_send(self, qpn, wr_id, source, imm, target):
        qp, (region, length) = self.fabric.qps[self.ip, qpn], source
        assert qp.peer is not None, "posted before RTS"
        assert len(qp.sends) < self.depth, "the send queue is full"
        self.counted["sent_pkts"] += 1
        qp.sends.append(_Message(wr_id, self.bytes_at(region.lkey, region.address, length), imm, target))

    def post_receive(self, qpn, wr_id, region, offset, length):
        qp = self.fabric.qps[self.ip, qpn]
        assert len(qp.receives) < self.depth, "the receive queue is full"
        self.bytes_at(region.lkey, region.address + offset, length)
        qp.receives.append((wr_id, region.address + offset, length))

    def bytes_at(self, lkey: int, address: int, length: int) -> memoryview:
        base, memory = self.regions[lkey]
        assert base <= address, "below the region"
        assert address + length <= base + len(memory), "beyond the region"
        return memory[address - base : address - base + length]

    def anywhere(self, address: int, length: int) -> memoryview:
        lkey = next(key for key, (base, memory) in self.regions.items() if base <= address < base + len(memory))
        return self.bytes_at(lkey, address, length)

    def poll(self) -> list[WorkCompletion]:
        found = list(self.completions)
        self.completions.clear()
        return found

    def counters(self) -> dict[str, int]:
        return dict(self.counted)

    def close(self) -> None:
        self.closed = True


class Fabric:
    """All devices, and what lies between them. `deliver()` moves what can be moved."""

    def __init__(self, *, aggregate: ArithmeticSpec | None = None, depth: int = 64) -> None:
        self.qps: dict[tuple[bytes, int], FakeQp] = {}
        self.aggregate, self.depth = aggregate, depth
        self.rnr = 0
        """times that a message found no receive"""
        self._next = 0x51_0000

    def draw(self, step: int) -> int:
        self._next += step
        return self._next

    def open(self, device: str, ip: bytes) -> FakeNic:
        return FakeNic(self, device, ip, self.depth)

    def opener(self) -> Callable[[str, bytes], FakeNic]:
        return self.open

    def peer(self, qp: FakeQp) -> FakeQp:
        assert qp.peer is not None
        return self.qps[qp.config.envelope.dst_ip, qp.peer]

    def fail(self, qp: FakeQp, status: str) -> None:
        """Its oldest message ends with `status`; everything else is flushed."""
        qp.failed = True
        for message in qp.sends:
            qp.nic.completions.append(WorkCompletion(qp.number, message.wr_id, False, status))
            status = "FLUSH"
        for wr_id, _, _ in qp.receives:
            qp.nic.completions.append(WorkCompletion(qp.number, wr_id, True, "FLUSH"))
        qp.sends.clear()
        qp.receives.clear()

    def deliver(self) -> bool:
        """Whether anything moved."""
        ready = [qp for qp in self.qps.values() if qp.sends and not qp.failed]
        if self.aggregate is not None:
            return self._reduce(ready)
        moved = [self._land(qp, qp.sends[0].data) for qp in ready]
        return any(moved)

    def _reduce(self, ready: list[FakeQp]) -> bool:
        """One message of every rank, when all are there, each under its own header."""
        heads = {InaHeader.decode(qp.sends[0].data).rank: qp for qp in ready}
        if not heads or len(heads) < InaHeader.decode(ready[0].sends[0].data).size:
            return False
        ranked = [heads[rank] for rank in sorted(heads)]
        headers = [InaHeader.decode(qp.sends[0].data) for qp in ranked]
        assert len({header.msg_id for header in headers}) == 1, "ranks run apart"
        rows = np.stack([np.frombuffer(qp.sends[0].data[INA_HEADER_BYTES:], np.uint8) for qp in ranked])
        total = fold(rows, self.aggregate).tobytes() if rows.shape[1] else b""
        moved = [self._land(qp, qp.sends[0].data[:INA_HEADER_BYTES] + total) for qp in ranked]
        return any(moved)

    def _land(self, qp: FakeQp, data: bytes) -> bool:
        there, message = self.peer(qp), qp.sends[0]
        if message.imm is not None or message.target is None:
            if not there.receives:
                self.rnr += 1
                return False
            wr_id, address, length = there.receives.popleft()
        if message.target is not None:
            address, rkey = message.target
            there.nic.bytes_at(rkey - 1, address, len(data))[:] = data
        else:
            assert len(data) <= length
            there.nic.anywhere(address, len(data))[:] = data
        if message.imm is not None or message.target is None:
            there.nic.completions.append(WorkCompletion(there.number, wr_id, True, "SUCCESS", len(data), message.imm))
        qp.sends.popleft()
        qp.nic.completions.append(WorkCompletion(qp.number, message.wr_id, False, "SUCCESS"))
        return True
