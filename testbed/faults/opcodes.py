"""The words of `match.opcode`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from testbed.reading.keytypes import At, KeyType, Refer, refuse
from testbed.reading.problems import closest
from workloads.rc.words import (
    ACK_OPCODES,
    DATA_OPCODES,
    IRN_OPCODES,
    OPCODE_GROUPS,
    OPCODE_NAMES,
    UC_OPCODES,
    number_of,
    words_of,
)

__all__ = ["ACK_OPCODES", "DATA_OPCODES", "IRN_OPCODES", "OPCODE_GROUPS", "UC_OPCODES", "OpcodesType"]

_WORDS = [*OPCODE_GROUPS, *OPCODE_NAMES]


@dataclass(frozen=True, slots=True)
class OpcodesType(KeyType):
    """A word, the name of an opcode, or a list of names. What a word says of the syndrome is read as well."""

    def read(self, value: Any, at: At) -> frozenset[int]:
        if isinstance(value, str) and value in OPCODE_GROUPS:
            return OPCODE_GROUPS[value][0]
        words = value if isinstance(value, list) and value else [value]
        numbers = set()
        for word in words:
            if not isinstance(word, str) or word not in OPCODE_NAMES:
                near = closest(word, _WORDS)
                raise refuse("unknown opcode", f"{', '.join(OPCODE_GROUPS)}, or names as WRITE_MIDDLE, or a list", near)
            numbers.add(number_of(word))
        return frozenset(numbers)

    def write(self, value: frozenset[int]) -> list[str]:
        return words_of(value)

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"anyOf": [{"enum": _WORDS}, {"type": "array", "items": {"enum": list(OPCODE_NAMES)}, "minItems": 1}]}
