"""The table in the README of the rdma_rxe captures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class CaptureRow:
    """One row of the table in the README of the captures."""

    name: str
    packets: int
    valid: int
    opcodes: dict[str, int]
    """opcode name as in the README -> count"""
    syndromes: dict[int, int]
    """of its ACKs"""


def capture_table(folder: Path) -> Iterator[CaptureRow]:
    for line in (folder / "README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 5 or not cells[0].endswith(".pcap"):
            continue
        opcodes: dict[str, int] = {}
        syndromes: dict[int, int] = {}
        for item in cells[4].split(", "):
            name, _, rest = item.partition(" ")
            if name == "ACK":
                syndromes = {int(s, 16): int(n) for s, n in re.findall(r"0x([0-9a-f]{2})\u00d7(\d+)", rest)}
                opcodes[name] = sum(syndromes.values())
            else:
                opcodes[name] = int(rest)
        yield CaptureRow(cells[0], int(cells[2]), int(cells[3]), opcodes, syndromes)
