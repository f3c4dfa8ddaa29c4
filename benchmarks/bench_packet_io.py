"""Frames per second through a data plane: I/O batched in C against one system call per frame in Python.

`python -m benchmarks.bench_packet_io [--json]` as root. A namespace of its own holds two veth pairs; a child process
forwards between them, this process keeps `--window` frames on the way. Both kinds run in turn, so that a change of the
machine's load meets both. The forwarding Machine copies whole batches, so what differs is the I/O.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import socket
import statistics
import sys
import time
from collections.abc import Iterable
from multiprocessing.connection import Connection

import numpy as np

from switch_nodes.dataplane import DataPlane, PlaneControl
from switch_nodes.dataplane.native_io import NativeIo, native_library
from switch_nodes.dataplane.packet_io import PacketIo
from switch_nodes.dataplane.python_io import PythonIo
from switch_nodes.dataplane.sockets import open_ports
from tests.support.namespace import own_namespace
from workloads.machine import Buffer, Event, FrameBatch

_TIME_LIMIT_S = 20.0


class CopyForwarder:
    """Port 0 to port 1, a batch at a time."""

    def __init__(self) -> None:
        self._held: list[FrameBatch] = []

    def receive_batch(self, batch: FrameBatch, now: int) -> None:
        count, size = batch.count, int(batch.lengths[: batch.count].max())
        self._held.append(
            FrameBatch(batch.frames[:count, :size].copy(), batch.lengths[:count].copy(), batch.ports, count)
        )

    def fill_batch(self, batch: FrameBatch, now: int) -> None:
        while self._held and batch.capacity - batch.count >= self._held[0].count:
            held, at = self._held.pop(0), batch.count
            end = at + held.count
            batch.frames[at:end, : held.stride] = held.frames
            batch.lengths[at:end], batch.ports[at:end], batch.count = held.lengths, 1, end

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        raise NotImplementedError

    def frames_to_send(self, now: int) -> Iterable[tuple[int, Buffer]]:
        return ()

    def get_timer(self) -> int | None:
        return None

    def handle_timer(self, now: int) -> None: ...

    def next_event(self) -> Event | None:
        return None


def open_kind(kind: str, interfaces: list[str], control: socket.socket | None = None) -> PacketIo:
    sockets = open_ports(interfaces, backpressure=False)
    library = native_library() if kind == "native" else None
    if library is not None:
        return NativeIo(library, sockets, backpressure=False, control=control)
    return PythonIo(sockets, backpressure=False, control=control)


def serve_bare(control: socket.socket, report: Connection) -> None:
    """No Machine, no loop of a data plane, no copy between batches: what packet sockets alone take."""
    io = open_kind("native", ["a0", "b0"], control)
    rows = io.attach(FrameBatch.of(256, io.stride))
    report.send(None)
    began, wakeups = time.process_time_ns(), 0
    while not io.control_ready:
        count = io.receive(rows, -1)
        wakeups += 1
        rows.batch.ports[:count] = 1
        io.send(rows, count, True)
    found = io.counters()
    report.send((time.process_time_ns() - began, found.frames_in, wakeups, found.socket_drops + found.queue_drops))


def serve(kind: str, control: socket.socket, report: Connection) -> None:
    if kind == "bare":
        return serve_bare(control, report)
    io = open_kind(kind, ["a0", "b0"], control)
    director = PlaneControl(lambda *_: None, on_control=lambda: False)
    plane = DataPlane(CopyForwarder(), [], director, io=io, backpressure=False)
    report.send(None)
    result = plane.run(time.monotonic_ns())
    report.send((result.cpu_ns, result.frames_in, result.wakeups, result.socket_drops + result.queue_drops))


def drive(size: int, frames: int, window: int) -> float:
    """Frames per second of a closed loop."""
    io = open_kind("native", ["a1", "b1"])
    out, back = io.attach(FrameBatch.of(window, io.stride)), io.attach(FrameBatch.of(256, io.stride))
    data = b"\x02" * 12 + b"\x88\xb5" + bytes(size - 14)
    for _ in range(window):
        out.batch.append(0, data)
    sent = received = 0
    began = time.monotonic()
    while received < frames and time.monotonic() - began < _TIME_LIMIT_S:
        burst = min(window - (sent - received), frames - sent)
        if burst:
            io.send(out, burst, True)
            sent += burst
        received += int(np.count_nonzero(back.batch.ports[: io.receive(back, 200_000_000)] == 1))
    rate = received / (time.monotonic() - began)
    io.close()
    return rate


def measure(kind: str, size: int, frames: int, window: int) -> tuple[float, float, float]:
    """(frames per second, CPU us per frame of the forwarder, frames per wake-up)."""
    ours, theirs = socket.socketpair()
    report, child_report = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=serve, args=(kind, theirs, child_report))
    child.start()
    report.recv()
    rate = drive(size, frames, window)
    ours.send(b"stop")
    cpu_ns, count, wakeups, drops = report.recv()
    child.join()
    if drops:
        print(f"{kind}: {drops} frames were dropped", file=sys.stderr)
    return rate, cpu_ns / 1000 / max(count, 1), count / wakeups


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--window", type=int, default=64)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if native_library() is None:
        print("no C core to measure: " + json.dumps("see python -m workloads.native.build"), file=sys.stderr)
        return 3
    rows = []
    with own_namespace() as space:
        for pair in ("a", "b"):
            space.veth(f"{pair}0", f"{pair}1", mtu=9000)
        for size in (1082, 4154):
            taken: dict[str, list[tuple[float, float, float]]] = {"native": [], "python": []}
            for _ in range(options.repeats):
                for kind, results in taken.items():
                    results.append(measure(kind, size, options.frames, options.window))
            for index, unit in enumerate(("frames/s", "cpu us/frame")):
                ours, peer = ([result[index] for result in taken[kind]] for kind in ("native", "python"))
                rows.append(
                    {
                        "measured": f"recvmmsg/sendmmsg from C, {size}-byte frames, window {options.window}",
                        "peer": "Python socket.recv_into/send",
                        "repeats": options.repeats,
                        "median": statistics.median(ours),
                        "spread": [min(ours), max(ours)],
                        "peer_median": statistics.median(peer),
                        "peer_spread": [min(peer), max(peer)],
                        "unit": unit,
                        "ratio": statistics.median(a / b for a, b in zip(ours, peer, strict=True)),
                    }
                )
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        for row in rows:
            low, high = row["spread"]
            print(
                f"{row['measured']}: {row['median']:.3g} {row['unit']} ({low:.3g}..{high:.3g}), {row['ratio']:.2f} x "
                "peer"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
