"""The figures of a run by dotted names, as a table, a sweep or a person's script wants them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["Figure", "flat_figures"]

Figure = float | int | None
"""None: it could not be determined"""
_NAMES = ("name", "job", "number")
"""keys that distinguish the entries of a list"""


def flat_figures(document: Mapping[str, Any]) -> dict[str, Figure]:
    """Figures of the document of result.json: `jct_s`, `lost.data`, `retransmissions.packets`. Names that end in `_s`
    are in seconds, in `_bps` in bits per second, in `_bytes` in bytes. Figures that the machine was too slow for stand
    under `unreliable`."""
    found = dict(_walk("", document["metrics"]))
    found |= {f"faults.{fault['name']}.strikes": fault["strikes"] for fault in document["faults"]}
    return found


def _walk(prefix: str, value: Any) -> Iterator[tuple[str, Figure]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _walk(f"{prefix}.{key}" if prefix else str(key), item)
    elif isinstance(value, list):
        for item in value:
            name = next((item[key] for key in _NAMES if key in item), None) if isinstance(item, Mapping) else None
            if name is not None:
                yield from _walk(f"{prefix}.{name}", {key: item[key] for key in item if key not in _NAMES})
    elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield prefix, value
