"""Endpoints with IRN, driven in the three ways there are, and what they are then like."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

from testbed.worlds.simulated.native.library import load_core
from tests.support.rc_pair import several_configs
from workloads.config import IrnConfig, QpConfig
from workloads.machine import FrameBatch
from workloads.rc import RcEndpoint, ReceiveRequest
from workloads.rc.held_window import HeldWindow
from workloads.rc.irn_native_endpoint import NativeIrnEndpoint

MTU = 256
ROOM = 24 * MTU
ENDLESS = 1 << 40
"""where the memory is that is known again and again"""
DONE, NONE, PYTHON, NEWS = range(4)
"""`enum irn_fate`"""
FRAMES, BATCHES, HELD = "frames", "batches", "held"


class Side:
    """One endpoint: driven by frames (the reference), by batches, or held by compiled code whenever that is
    possible."""

    def __init__(self, configs: list[QpConfig], kind: str, rows: int = 64) -> None:
        self.end, self.kind, self.rows = RcEndpoint(), kind, rows
        self.memory = bytearray(b"\xee" * (ROOM * 16))
        self.end.register_memory(5, 0, memoryview(self.memory))
        self.end.register_memory(6, ENDLESS, memoryview(self.memory), endless=True)
        for config in configs:
            self.end.add_qp(config)
        self.batch = FrameBatch.of(rows, 1500)
        self.told: list[Any] = []
        self.by_c = 0
        """frames that compiled code took or gave"""
        self._held: NativeIrnEndpoint | None = None
        if kind == HELD:
            held, library = self.end.hold(), load_core()
            assert isinstance(held, NativeIrnEndpoint)
            assert library is not None
            self._held, self._library = held, library

    def post_receive(self, qpn: int) -> None:
        self.end.post_receive(qpn, ReceiveRequest(1))

    def send(self, now: int) -> list[bytes]:
        if self.kind == FRAMES:
            frames = []
            for _, frame in self.end.frames_to_send(now):
                frames.append(bytes(frame))
                if len(frames) == self.rows:
                    break
            return frames
        if self.kind == HELD:
            return list(self._pulled(now))
        self.batch.count = 0
        self.end.fill_batch(self.batch, now)
        return [bytes(self.batch.row(i)) for i in range(self.batch.count)]

    def _pulled(self, now: int) -> Iterator[bytes]:
        assert self._held is not None
        octets, length = ctypes.create_string_buffer(2048), ctypes.c_int32(0)
        pull: Any = self._library.rc_endpoint_pull
        pull.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int64]
        for _ in range(self.rows):
            if not self._offered():
                yield from (
                    bytes(f) for _, f in zip(range(1), (f for _, f in self.end.frames_to_send(now)), strict=False)
                )
                continue
            fate = pull(self._held.address, octets, len(octets), ctypes.byref(length), now)
            if fate == NONE:
                return
            if fate == DONE:
                self.by_c += 1
                yield octets.raw[: length.value]
            else:
                assert fate == PYTHON
                self.take_back(now)
                yield next(bytes(frame) for _, frame in self.end.frames_to_send(now))

    def receive(self, frames: list[bytes], now: int) -> None:
        if self.kind == BATCHES:
            batch = FrameBatch.of(max(1, len(frames)), 1500)
            for frame in frames:
                batch.append(0, frame)
            self.end.receive_batch(batch, now)
            batch.frames[:] = 0x55  # what was kept must have been copied
            return
        for frame in frames:
            if self.kind == FRAMES or not self._offered():
                self.end.receive_frame(0, frame, now)
            else:
                self._receive_held(frame, now)

    def _receive_held(self, frame: bytes, now: int) -> None:
        assert self._held is not None
        receive: Any = self._library.rc_endpoint_receive
        receive.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_int64]
        fate = receive(self._held.address, frame, len(frame), now)
        if fate == PYTHON:
            self.take_back(now)
            self.end.receive_frame(0, frame, now)
            return
        self.by_c += 1
        if fate == NEWS and not self._held.tell_events():
            self.take_back(now)
        self.collect()

    def _offered(self) -> bool:
        assert self._held is not None
        return self._held.held or self._held.offer(None)

    def take_back(self, now: int) -> None:
        if self._held is not None and self._held.held:
            self._held.take_back(now)

    def collect(self) -> None:
        while (event := self.end.next_event()) is not None:
            self.told.append(event)

    def state(self, now: int = 0) -> Any:
        self.take_back(now)
        self.collect()
        while (completion := self.end.next_completion()) is not None:
            self.told.append(completion)
        inside = [
            (q.requester.recovery.window.state, q.requester.recovery.timers, q.requester.recovery.failed,
             q.responder.standing, q.responder.failed, q.responder.arrivals.bitmap, dict(q.responder.kept),
             list(q.responder.answers), *_held(q))
            for q in self.end._order
        ]  # fmt: skip
        events = [told for told in self.told if not hasattr(told, "wr_id")]
        completions = [told for told in self.told if hasattr(told, "wr_id")]
        return inside, events, completions, self.end.statistics(), self.end.get_timer(), bytes(self.memory)


def _held(qp: Any) -> tuple[Any, ...]:
    """What `irn-held` knows beside that."""
    window = qp.requester.recovery.window
    if not isinstance(window, HeldWindow):
        return ()
    return window.held_state, window.places.tobytes(), qp.responder.told_to


IRN = IrnConfig(rto_low_ns=80_000, rto_high_ns=256_000, cap_packets=40)


def qp_configs(count: int, psn: int, v6: bool = False, **overrides: Any) -> tuple[list[QpConfig], list[QpConfig]]:
    settings = {"recovery": "irn", "irn": IRN, "retry7_infinite": True, "timeout_code": 6} | overrides
    return several_configs(count, psn, v6, **settings)
