"""Ranks of a mixed ring that run on our own endpoint: each a process on the host, with a socket pair as its link."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from switch_nodes.dataplane.sockets import PortSocket
from testbed.history import Record, make_record, read_history
from testbed.history.codec import encode_record
from testbed.interop.wires import MTU
from testbed.kernel.ledger import Ledger
from testbed.kernel.processes import ProcessId, child_setup, end_processes, identify
from testbed.plan import Plan
from workloads.config import WorkerConfig
from workloads.machine import Buffer, Event, Machine
from workloads.wire.places import ETHERTYPE, SRC_MAC

__all__ = ["ArpAnswering", "SoftHosts"]

_BUFFER_BYTES = 8 << 20
_ETHERTYPE_ARP = b"\x08\x06"
_ARP_IPV4 = bytes.fromhex("0001080006040001")
"""Ethernet, IPv4, request (RFC 826)"""
_ARP_BYTES = 42


class ArpAnswering:
    """A Machine on port 0 that also answers ARP requests for its own address, as a host's kernel does for it
    elsewhere."""

    def __init__(self, machine: Any, mac: bytes, ip: bytes) -> None:
        self._machine, self._mac, self._ip = machine, mac, ip
        self._answers: deque[bytes] = deque()
        self.get_timer, self.handle_timer = machine.get_timer, machine.handle_timer
        self.next_event, self.finish = machine.next_event, machine.finish

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        if bytes(frame[ETHERTYPE]) != _ETHERTYPE_ARP:
            self._machine.receive_frame(port, frame, now)
            return
        request = bytes(frame[:_ARP_BYTES])
        if request[14:22] == _ARP_IPV4 and request[38:42] == self._ip:
            asking = request[22:32]
            answer = (
                request[SRC_MAC] + self._mac + _ETHERTYPE_ARP + _ARP_IPV4[:-1] + b"\x02" + self._mac + self._ip + asking
            )
            self._answers.append(answer)

    def frames_to_send(self, now: int) -> Iterable[tuple[int, Buffer]]:
        while self._answers:
            yield 0, self._answers.popleft()
        yield from self._machine.frames_to_send(now)


class SoftHosts:
    """The processes of some ranks; nothing where there are none. Leaving the context ends them."""

    def __init__(self, plan: Plan | None, ranks: tuple[int, ...], ledger: Ledger, folder: Path) -> None:
        self._ledger, self._folder = ledger, folder
        self._configs = {rank: plan.ring_workers[rank] for rank in ranks} if plan is not None else {}
        self.ports: dict[int, PortSocket] = {}
        """the switch's end of the link, by rank"""
        self._far: dict[int, socket.socket] = {}
        self._stop: dict[int, socket.socket] = {}
        self._processes: dict[int, ProcessId | None] = {}

    def __enter__(self) -> Self:
        for rank in self._configs:
            near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
            for end in (near, far):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
            self.ports[rank] = _port(near)
            self._far[rank] = far
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_all(timeout_s=0.0)
        for end in (*self._far.values(), *(port.socket for port in self.ports.values())):
            end.close()

    def start(self, origin_ns: int) -> None:
        parent = os.getpid()
        for rank, config in self._configs.items():
            mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            pid = os.fork()
            if pid == 0:
                status = 70
                try:
                    child_setup(parent, lambda process, rank=rank: self._ledger.note_process(process, f"soft {rank}"))  # type: ignore[misc]
                    mine.close()
                    _live(config, _port(self._far[rank]), theirs, self._path(rank), origin_ns)
                    status = 0
                finally:
                    os._exit(status)
            theirs.close()
            self._stop[rank], self._processes[rank] = mine, identify(pid)

    @property
    def finished(self) -> bool:
        """Every soft rank has finished or failed (and answers its peers still)."""
        return all(self._done(rank).exists() for rank in self._configs)

    def records(self) -> list[Record]:
        """What they reported; ends them first."""
        self._stop_all(timeout_s=3.0)
        return [
            record for rank in self._configs if self._path(rank).exists() for record in read_history(self._path(rank))
        ]

    def _stop_all(self, timeout_s: float) -> None:
        for end in self._stop.values():
            end.close()
        self._stop.clear()
        deadline = time.monotonic() + timeout_s
        for process in self._processes.values():
            if process is None:
                continue
            while os.waitpid(process.pid, os.WNOHANG)[0] == 0:
                if time.monotonic() > deadline:
                    end_processes([process])
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(process.pid, 0)
                    break
                time.sleep(0.005)
        self._processes.clear()

    def _path(self, rank: int) -> Path:
        return self._folder / f"soft-{rank}.jsonl"

    def _done(self, rank: int) -> Path:
        return self._folder / f"soft-{rank}.done"


def _port(end: socket.socket) -> PortSocket:
    return PortSocket("link", end, MTU, end.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF))


def _live(config: WorkerConfig, port: PortSocket, control: socket.socket, path: Path, origin_ns: int) -> None:
    """Run the worker until the other end of `control` is closed."""
    from switch_nodes.dataplane import DataPlane, PlaneControl
    from testbed.interop.wires import WireIo
    from workloads.gradients import create_source
    from workloads.worker import WorkerMachine

    collective = config.collective
    source = create_source(config.workload, collective.rank, collective.size, collective.arithmetic.dtype)
    worker = WorkerMachine(config, source)
    envelope = config.to_successor.envelope
    machine: Machine = ArpAnswering(worker, envelope.src_mac, envelope.src_ip)
    with path.open("wb") as file:

        def tell(now: int, event: Event) -> None:
            file.write(encode_record(make_record(now, config.name, event)))
            if worker.finished or worker.failed:
                file.flush()
                path.with_suffix(".done").touch()

        io = WireIo([port], control=control)
        director = PlaneControl(tell, control=control, on_control=lambda: False)
        DataPlane(machine, [], director, backpressure=True, io=io).run(origin_ns)
        now = time.monotonic_ns() - origin_ns
        worker.finish(now)
        while (event := worker.next_event()) is not None:
            tell(now, event)
