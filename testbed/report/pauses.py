"""Lines about PFC for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from testbed.terminal.numbers import seconds
from testbed.terminal.words import amount, times

__all__ = ["pfc_texts"]

_SHOWN = 3


def pfc_texts(pfc: dict[str, Any]) -> Iterator[str]:
    """`pfc`: of the metrics. Which links were paused most, what buffers dropped, and what stands still for ever."""
    if pfc["dropped_by_buffers"]:
        of_lossless = f", {pfc['dropped_lossless']:,} of them of lossless classes"
        yield f"buffers dropped {amount(pfc['dropped_by_buffers'], 'packet')}{of_lossless}"
    if pfc.get("watchdog_acted"):
        acted, dropped = times(pfc["watchdog_acted"]), amount(pfc["watchdog_dropped"], "frame")
        yield f"watchdogs acted {acted} and dropped {dropped}"
    if pfc.get("links"):
        links = sorted(pfc["links"].items(), key=lambda item: (-item[1]["paused_s"], item[0]))
        which = ", ".join(f"{name} {seconds(entry['paused_s'])}" for name, entry in links[:_SHOWN])
        yield f"PFC paused {amount(len(links), 'link direction')} (longest: {which})"
    if pfc.get("deadlock"):
        yield f"paused links wait for each other: {', '.join(pfc['deadlock'])}"
