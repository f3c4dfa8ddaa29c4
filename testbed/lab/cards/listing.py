"""The register map, and what is in a card's registers, for people and programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from switch_nodes.fpga.registers import Register
from switch_nodes.fpga.regmap import CONFIGURATION, SECTIONS, Command, Failure, LoadState, Status

__all__ = ["map_json", "map_markdown", "map_text", "values_json", "values_text"]


def _rows(registers: Iterable[Register]) -> Iterator[tuple[str, str, str, str, str, str]]:
    for register in registers:
        name = register.name if register.count == 1 else f"{register.name}[{register.count}]"
        reset = f"{register.reset:#x}"
        yield f"{register.address:#06x}", name, str(register.width), str(register.access), reset, register.meaning


def map_markdown() -> str:
    """One table for each section, as in docs/bring-your-own-fpga.md."""
    lines = []
    for title, repeats, registers in SECTIONS:
        lines += [f"### {title}", ""]
        if repeats:
            lines += [f"{repeats}.", ""]
        lines += ["| address | name | width | access | reset | meaning |", "|---|---|---|---|---|---|"]
        for address, name, *rest, meaning in _rows(registers):
            lines.append(f"| {address} | `{name}` | {' | '.join(rest)} | {meaning} |")
        lines.append("")
    return "\n".join(lines)


def map_text() -> str:
    lines = []
    for title, repeats, registers in SECTIONS:
        lines.append(title + (f" ({repeats.replace('`', '')})" if repeats else ""))
        for address, name, width, access, reset, meaning in _rows(registers):
            lines.append(f"  {address}  {name:<24} {width:>2}  {access}  {reset:<10}  {meaning}")
        lines.append("")
    return "\n".join(lines)


def map_json() -> str:
    sections = [
        {
            "title": title,
            "repeats": repeats.replace("`", ""),
            "registers": [
                {
                    "name": register.name, "address": register.address, "width": register.width,
                    "count": register.count, "access": str(register.access), "reset": register.reset,
                    "meaning": register.meaning,
                }
                for register in registers
            ],
        }
        for title, repeats, registers in SECTIONS
    ]  # fmt: skip
    configuration = {"first": CONFIGURATION.start, "behind": CONFIGURATION.stop}
    codes = {
        kind.__name__.lower(): {item.name: item.value for item in kind}
        for kind in (Command, Status, Failure, LoadState)
    }
    return json.dumps({"configuration": configuration, "codes": codes, "sections": sections}, indent=2) + "\n"


def values_text(values: Iterable[tuple[str, int, int]]) -> str:
    return "".join(f"{address:#06x}  {name:<24} {word:#010x}\n" for name, address, word in values)


def values_json(values: Iterable[tuple[str, int, int]]) -> str:
    found = [{"name": name, "address": address, "value": word} for name, address, word in values]
    return json.dumps(found, indent=2) + "\n"
