"""What `tb bench papers` writes: `papers.json` with all intervals, `papers.csv`, and `papers.md`, a page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.bench.papers.claims import Bearing, GainPoint
from testbed.bench.papers.headline import Headline
from testbed.sweeps.table import csv_text

__all__ = ["Judged", "page_lines", "write_results"]


@dataclass(frozen=True, slots=True)
class Judged:
    """A headline, what was measured, and whether it holds."""

    headline: Headline
    places: tuple[GainPoint, ...]
    standing: Bearing
    why: str

    @property
    def is_measured(self) -> bool:
        return bool(self.places) and all(place.is_known for place in self.places)

    @property
    def measured(self) -> str:
        """Gains in few words: those of the least and of the best place, each with its interval."""
        known = sorted((place for place in self.places if place.gains), key=lambda place: place.interval[1])
        if not known:
            return "nothing"
        least, best = show_interval(known[0]), show_interval(known[-1])
        return best if len(known) == 1 or least == best else f"{least} to {best}"


def show_interval(place: GainPoint) -> str:
    """`1.20 [1.10, 1.31]`; without brackets where the interval has no width."""
    low, middle, high = place.interval
    bounds = "" if f"{low:.2f}" == f"{high:.2f}" else f" [{low:.2f}, {high:.2f}]"
    return f"{middle:.2f}{bounds}"


def write_results(found: Sequence[Judged], folder: Path) -> tuple[Path, Path, Path]:
    """Returns the paths of JSON, CSV and page."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "papers.json", folder / "papers.csv", folder / "papers.md"
    texts = (
        json.dumps([_document(each) for each in found], indent=1) + "\n",
        csv_text(_lines(found)),
        "\n".join(page_lines(found)) + "\n",
    )
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def page_lines(found: Sequence[Judged]) -> Iterator[str]:
    """A table in Markdown, and for each headline its settings."""
    yield "| headline | published | measured here | verdict |"
    yield "|---|---|---|---|"
    for each in found:
        yield f"| `{each.headline.key}` | {each.headline.published} | {each.measured} | {each.standing} |"
    yield ""
    for each in found:
        headline = each.headline
        here = f"Paper: {headline.setting}. Here: {headline.decided}."
        yield f"- `{headline.key}` ({headline.paper}). {here} {_begun(each.why)}."


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]


def _document(each: Judged) -> dict[str, Any]:
    headline = each.headline
    return {
        "headline": headline.key, "paper": headline.paper, "published": headline.published,
        "setting": headline.setting, "decided": headline.decided, "world": "simulated", "sweep": headline.sweep,
        "verdict": str(each.standing), "why": each.why, "places": [_place(place) for place in each.places],
    }  # fmt: skip


def _place(place: GainPoint) -> dict[str, Any]:
    found: dict[str, Any] = {"place": place.name, "runs": len(place.gains), "exact": place.exact}
    if place.gains:
        found["low"], found["gain"], found["high"] = place.interval
    return found


def _lines(found: Sequence[Judged]) -> Iterator[dict[str, Any]]:
    for each in found:
        for place in each.places:
            yield {"headline": each.headline.key, **_place(place), "verdict": str(each.standing)}
