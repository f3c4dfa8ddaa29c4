"""Switches of DLCP jobs that are wrong in one way each, for the hunter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from switch_nodes.dlcp import DlcpProgram
from switch_nodes.registry import create_program
from testbed.hunt.judge import Machines
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, decode_datagram, encode_datagram

__all__ = ["DLCP_SWITCHES"]


class AddsCopies(DlcpProgram):
    """A copy of a contribution is added once more."""

    def add(self, pool: Any, a: Any, rank: int, port: int) -> None:
        slot = pool.slot_of(a)
        if slot is not None and rank in slot.rows:
            inside, more = (np.frombuffer(frame, ">u4", a.count, a.at) for frame in (slot.rows[rank], a.frame))
            slot.rows[rank] = a.frame[: a.at] + (inside + more).astype(">u4").tobytes()
            return
        super().add(pool, a, rank, port)


class ForgetsWhoIsInside(DlcpProgram):
    """What leaves says that the first worker alone is inside."""

    def emit(self, port: int, frame: Any) -> None:
        found = decode_datagram(frame)
        if found is not None and found.src_ip == bytes((10, 77, 255, 1)):
            header = found.header._replace(bitmap0=found.header.bitmap0 & -found.header.bitmap0)
            frame = _again(frame, found, header, found.payload)
        super().emit(port, frame)


class SaysWhole(DlcpProgram):
    """A sum of some says that all are inside."""

    def emit(self, port: int, frame: Any) -> None:
        found = decode_datagram(frame)
        if found is not None and found.src_ip == bytes((10, 77, 255, 1)):
            everybody = self.served[found.header.job].everyone
            frame = _again(frame, found, found.header._replace(bitmap0=everybody), found.payload)
        super().emit(port, frame)


class NeverLate(DlcpProgram):
    """Slots wait for ever."""

    def get_timer(self) -> int | None:
        return None

    def handle_timer(self, now: int) -> None:
        pass


class SumsAsTheyCame(DlcpProgram):
    """Floats are added in the order of arrival."""

    def send(self, pool: Any, slot: Any, reason: str) -> None:
        slot.rows = dict(zip(sorted(slot.rows), slot.rows.values(), strict=True))
        super().send(pool, slot, reason)


def _again(frame: Any, found: Any, header: Any, payload: Any) -> bytes:
    envelope = Envelope(frame[6:12], frame[0:6], found.src_ip, found.dst_ip, AGGREGATION_PORT, tos=frame[15])
    return encode_datagram(envelope, AGGREGATION_PORT, header, payload)


def _adding(kind: type[DlcpProgram]) -> Any:
    """Only where the switch has jobs: others forward."""
    return lambda config: kind(config) if config.jobs else create_program(config)


DLCP_SWITCHES: Mapping[str, Machines] = {
    kind.__name__: Machines(create=_adding(kind))
    for kind in (AddsCopies, ForgetsWhoIsInside, NeverLate, SaysWhole, SumsAsTheyCame)
}
