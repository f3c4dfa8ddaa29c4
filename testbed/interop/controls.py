"""Switches that are wrong on purpose. A case with one of them must fail, or the suite could not distinguish right from
wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from switch_nodes.config import SwitchConfig
from switch_nodes.netreduce.contribution import RingContribution
from switch_nodes.netreduce.program import NetReduceProgram
from switch_nodes.netreduce.ring import Ring
from switch_nodes.netreduce.slot_actions import SlotActions, Switch
from switch_nodes.program import SwitchProgram
from switch_nodes.registry import create_program

__all__ = ["CONTROLS", "Float64Sums", "StaleIcrc", "plain_switch"]


class _OldIcrcs(SlotActions):
    def __init__(self, config: SwitchConfig, switch: Switch) -> None:
        super().__init__(config, switch)
        self._stale: dict[tuple[int, int], bytes] = {}
        self._old = b""

    def store(self, c: RingContribution, slot: int) -> None:
        self._stale[c.rank, slot] = bytes(c.packet.frame[-4:])
        super().store(c, slot)

    def send_result(self, ring: Ring, rank: int, slot: int) -> None:
        self._old = self._stale[rank, slot]
        super().send_result(ring, rank, slot)

    def build_result(self, header: bytes, value: bytes, congested: bool) -> bytes:
        return super().build_result(header, value, congested)[:-4] + self._old


class StaleIcrc(NetReduceProgram):
    """Results leave with the iCRC that their contribution came with."""

    slot_actions_class = _OldIcrcs


class _SumsInFloat64(SlotActions):
    def operands(self, ring: Ring, slot: int) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
        ranks, payloads = super().operands(ring, slot)
        size = int(ring.length[slot])
        values = np.ascontiguousarray(payloads[:, :size]).view("<f4").astype(np.float64)
        return ranks, values.sum(axis=0).astype("<f4").view(np.uint8).reshape(1, size)


class Float64Sums(NetReduceProgram):
    """float32 gradients summed in float64 and rounded once, where the protocol rounds at every step."""

    slot_actions_class = _SumsInFloat64


def plain_switch(config: SwitchConfig) -> SwitchProgram:
    """In place of the aggregator: it forwards."""
    return create_program(replace(config, program="forward", rings=()))


CONTROLS: Mapping[str, Callable[[SwitchConfig], SwitchProgram]] = {
    "plain-switch": plain_switch,
    "stale-icrc": StaleIcrc,
    "float64-sums": Float64Sums,
}
