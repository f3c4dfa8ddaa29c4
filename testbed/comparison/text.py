"""A comparison for people (text, HTML) and for programs (JSON)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from testbed.comparison.model import ComparedRow, Comparison
from testbed.comparison.units import show_figure
from testbed.terminal.stream import PROSE
from testbed.terminal.tables import table_lines

__all__ = ["comparison_document", "comparison_json", "comparison_page", "comparison_text"]

_NEAR = 0.0005
"""ratios nearer to 1 than that are shown without"""
_CSS = """
body{font:15px/1.45 system-ui,sans-serif;margin:1.5rem auto;max-width:75rem;padding:0 1rem;color:#1b1f24;background:#fff}h1{font-size:1.25rem}h2{font-size:1.05rem}
.wide{overflow-x:auto}table{border-collapse:collapse}th,td{border-bottom:1px solid #d5dae0;padding:.2rem .8rem .2rem 0;text-align:left}td{font-variant-numeric:tabular-nums}
small,.same{color:#5c6670}.pass{color:#176f2c}.fail{color:#b3151b}.unknown{color:#8a5a00}
@media(prefers-color-scheme:dark){body{color:#e6e9ec;background:#14171a}th,td{border-color:#3a4046}small,.same{color:#9aa4ad}.pass{color:#6bd685}.fail{color:#ff8a8a}.unknown{color:#e6b455}}
"""  # noqa: E501


def comparison_document(found: Comparison) -> dict[str, Any]:
    def rows(of: Sequence[ComparedRow]) -> list[dict[str, Any]]:
        return [{"name": row.name, "values": list(row.values), "differs": row.differs} for row in of]

    return {
        "schema": 1,
        "runs": [
            {"name": side.letter, "path": side.path}
            | {key: side.document[key] for key in ("scenario", "world", "seed", "verdict", "expect")}
            for side in found.sides
        ],
        "keys": rows(found.keys),
        "figures": [
            shown | {"ratios": list(row.ratios)} for shown, row in zip(rows(found.figures), found.figures, strict=True)
        ],
        "checks": rows(found.checks),
        "faults": rows(found.faults),
        "code": rows(found.code),
    }


def comparison_json(found: Comparison) -> str:
    return json.dumps(comparison_document(found), indent=1, ensure_ascii=False) + "\n"


def comparison_text(found: Comparison, width: int = PROSE) -> Iterator[str]:
    """What differs; tables are at most `width` columns wide."""
    for side in found.sides:
        yield f"{side.letter}  {side.path}"
        yield f"   {side.title}"
    letters = [side.letter for side in found.sides]
    for title, rows, shown in _sections(found):
        other = [row for row in rows if row.differs]
        yield ""
        same = len(rows) - len(other)
        yield title + (f" ({same:,} more are equal)" if same and other else "")
        if not other:
            yield f"  {f'all {same:,} are equal' if same else 'none'}"
            continue
        cells = [[row.name, *shown(row)] for row in other]
        text = () if rows in (found.figures, found.faults) else range(len(letters) + 1)
        yield from table_lines(["", *letters], cells, width, text=text or (0,), keys=1)


def comparison_page(found: Comparison) -> str:
    """One HTML file without anything from outside; equal rows are there too, in grey."""
    letters = "".join(f"<th>{side.letter}</th>" for side in found.sides)
    parts = ["<h1>Runs compared</h1>", '<div class="wide"><table>']
    for side in found.sides:
        verdict = escape(str(side.document["verdict"]))
        parts.append(
            f"<tr><th>{side.letter}</th><td>{escape(side.path)}</td><td "
            f'class="{verdict}">{escape(side.title)}</td></tr>'
        )
    parts.append("</table></div>")
    for title, rows, shown in _sections(found):
        parts.append(
            f'<h2>{escape(title[0].upper() + title[1:])}</h2><div class="wide"><table><tr><th></th>{letters}</tr>'
        )
        for row in rows:
            kind = "" if row.differs else ' class="same"'
            cells = "".join(f'<td class="{escape(text)}">{escape(text)}</td>' for text in shown(row))
            parts.append(f"<tr{kind}><td>{escape(row.name)}</td>{cells}</tr>")
        parts.append("</table></div>" if rows else "</table></div><p>none</p>")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width,initial-scale=1">'
        f"<title>Runs compared</title><style>{_CSS}</style></head><body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def _sections(found: Comparison) -> Iterator[tuple[str, Sequence[ComparedRow], Any]]:
    yield "keys of the scenario that differ", found.keys, _plain
    yield f"figures, and how many times that of {found.sides[0].letter}", found.figures, _with_ratios
    yield "code that ran, where it differs", found.code, _plain
    yield "checks", found.checks, _plain
    yield "faults: hits", found.faults, _plain


def _plain(row: ComparedRow) -> list[str]:
    return ["-" if value is None else f"{value:,}" if isinstance(value, int) else str(value) for value in row.values]


def _with_ratios(row: ComparedRow) -> list[str]:
    """`443 ms`, `500 ms 1.13x`"""
    cells = []
    for index, (value, ratio) in enumerate(zip(row.values, row.ratios, strict=True)):
        shown = "-" if value is None else show_figure(row.name, value)
        told = index and ratio is not None and abs(ratio - 1) > _NEAR
        cells.append(f"{shown} {ratio:.3g}x" if told else shown)
    return cells
