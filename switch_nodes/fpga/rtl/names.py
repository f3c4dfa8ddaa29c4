"""Names that the hardware and those who look at it share. This module does without Amaranth."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["PLANTS", "Happening"]

PLANTS: dict[str, str] = {
    "carry-between-lanes": "a carry of lane 0 enters lane 1",
    "keep-ignored": "the last beat counts as a whole one",
    "freed-early": "a slot is freed one message too early",
    "icrc-wrong-byte": "the new iCRC counts the TTL",
    "icrc-ignored": "a wrong iCRC is taken for a right one",
    "stall-ignored": "a beat is gone before the port takes it",
    "beat-dropped": "a beat is lost while the engine works on another frame",
    "bank-torn": "APPLY copies only some words of the bank",
    "read-check-no-address": "READ_CHECK leaves out the address",
    "counter-twice": "`duplicate` counts by two",
    "float-truncates": "bits that the alignment shifts out do not count",
    "float-rounds-up": "a tie rounds away from zero",
    "saturates-early": "int32sat clamps after each addition",
    "reverse-order": "the fold begins with the last rank",
    "port-ignored": "data of a ring edge may come in anywhere",
    "length-unchecked": "a contribution may have another length than the first one",
    "first-header-kept": "a result leaves under the first header of its connection",
    "mark-lost": "only the mark of the last contribution counts",
    "past-hole": "results pass a hole on all connections",
    "goes-back": "a frame may leave by the port that it came in by",
    "psn-wraps-wrong": "a PSN behind the wrap lies in no message",
    "claim-keeps": "a new QPN keeps the messages of the one before",
    "replays-to-all": "a duplicate is answered on all connections",
    "payload-replaced": "a repeated contribution with another payload is stored",
}
"""planted bugs (`plants`): what is wrong, by name"""


class Happening(IntEnum):
    IGNORED = 0
    """a packet of a ring entered no sum; `reason`: number of its counter"""
    INFERRED = 1
    """a message whose FIRST is missing was placed"""
    REPLAYED = 2
    """a duplicate was answered with the sum"""
    COMPLETED = 3
    """the last contribution came; `packets`: of the message"""
    OCCUPIED = 4
    """a slot got its first contribution"""
    FREED = 5
    """a slot with contributions was cleared; `packets`: 1 if it was complete"""
