"""The commodity switch with a compiled fast path (`steer.c`) for the job's data and for frames between known hosts;
Python takes the others."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding.frame_queue import FrameQueue, QueuedFrames, StaticMacs, switch_library
from switch_nodes.steering.program import SteerProgram
from workloads.machine import FrameBatch
from workloads.native.layout import check_layout, check_structure

__all__ = ["FastSteerProgram", "create_steer"]

_EDGE = np.dtype([("addresses", np.uint64), ("in_port", np.int32), ("out", np.int32)])
_NOWHERE = -1
_COUNTED = ("steered", "withheld", "forwarded")


class SteerStruct(ctypes.Structure):
    """struct steer_table"""

    _fields_ = [
        ("edges", ctypes.c_void_p),
        ("counters", ctypes.c_void_p),
        ("count", ctypes.c_int32),
        ("dscp", ctypes.c_int32),
    ]


class FastSteerProgram(QueuedFrames, SteerProgram):
    """Emits the same frames in the same order as `SteerProgram`."""

    def __init__(self, config: SwitchConfig, library: ctypes.CDLL) -> None:
        self._queue, self._rows = FrameQueue(library), library.steer_rows
        self._tallies = np.zeros(len(_COUNTED), np.int64)
        super().__init__(config)

    def set_down(self, down: frozenset[int], reason: str) -> None:
        super().set_down(down, reason)
        steers = [rule for rule in self.table.rules if rule.match.ip_src is not None]
        hosts = {rule.match.eth_dst: rule.outputs for rule in self.table.rules if rule.match.eth_dst is not None}
        self._edges = np.array(
            [
                (
                    int.from_bytes((rule.match.ip_src or b"") + (rule.match.ip_dst or b""), "big"),
                    rule.match.in_port,
                    rule.outputs[0] if rule.outputs else _NOWHERE,
                )
                for rule in steers
            ],
            _EDGE,
        )
        self._struct = SteerStruct(self._edges.ctypes.data, self._tallies.ctypes.data, len(steers), self.steering.dscp)
        self._pointer = ctypes.addressof(self._struct)
        self._static = StaticMacs(
            {mac: ports[0] for mac, ports in hosts.items() if len(ports) == 1},
            {mac: ports for mac, ports in hosts.items() if len(ports) > 1},
            self.config.flow_salt,
        )

    def receive_batch(self, batch: FrameBatch, now: int) -> None:
        self.feed(batch, now, self._rows, self._pointer, self._static.pointer)
        self._settle()

    def _settle(self) -> None:
        for name, amount in zip(_COUNTED, self._tallies.tolist(), strict=True):
            if amount:
                self.count(name, amount)
        self._tallies.fill(0)


@cache
def _check(library: ctypes.CDLL) -> None:
    check_structure(library, "steer_table", SteerStruct)
    edge = {name: int(place[1]) for name, place in (_EDGE.fields or {}).items()}
    check_layout(library, "steer_edge", edge, _EDGE.itemsize)


def create_steer(config: SwitchConfig) -> SteerProgram:
    """With the fast path where it can be built, and there are no routes of a plan, which it does not know."""
    library = switch_library()
    plain = library is None or (config.steering is not None and config.steering.routes)
    if library is not None:
        _check(library)
    return SteerProgram(config) if plain or library is None else FastSteerProgram(config, library)
