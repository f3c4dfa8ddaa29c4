"""Files that hosts and card left -> records of one history, on one clock. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from testbed.history import Record
from testbed.history.codec import read_record
from testbed.history.events import BarrierPassed, BarrierReached
from testbed.worlds.event_sources import misplaced
from workloads.errors import LabError

__all__ = ["by_host", "clock_of", "read_lines", "trace_records", "worker_records"]

_OWN = (BarrierReached, BarrierPassed)


def by_host(values: Mapping[str, str]) -> str:
    """The value that all hosts reported or, where they differ, the hosts of each value: `h1, h2: native; h3: python (no
    C compiler)`."""
    hosts: dict[str, list[str]] = {}
    for host, value in values.items():
        hosts.setdefault(value, []).append(host)
    if len(hosts) < 2:
        return "".join(hosts)
    return "; ".join(f"{', '.join(names)}: {value}" for value, names in hosts.items())


def read_lines(path: Path, host: str) -> Iterator[Record]:
    """A last line without its end is none: its writer was killed. A line that names no node is of `host`. Raises
    LabError for what is no record."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith("\n"):
                return
            try:
                yield read_record({"node": host, **json.loads(line)})
            except (ValueError, TypeError):
                problem = f"line {number} of {path.name} is no record of a history"
                raise LabError(host, problem, line[:200]) from None


def clock_of(records: Iterable[Record]) -> int | None:
    """CLOCK_REALTIME of the worker's host at the worker's t = 0; None when it never started."""
    return next((record.event.clock_ns for record in records if isinstance(record.event, BarrierPassed)), None)


def worker_records(records: list[Record], node: str, origin_ns: int, dilation: int = 1) -> Iterator[Record]:
    """Of one worker, named as the scenario's host, times counted from `origin_ns` (CLOCK_REALTIME) in the lab's time.
    Raises LabError for what is not a worker's to tell."""
    began = clock_of(records)
    shift = 0 if began is None else (began - origin_ns) // dilation
    for record in records:
        _check(node, "host", record)
        if not isinstance(record.event, _OWN):
            yield replace(record, t=max(0, record.t + shift), node=node)


def trace_records(records: Iterable[Record], switch: str, origin_ns: int, dilation: int = 1) -> Iterator[Record]:
    """Of the card, whose times are CLOCK_REALTIME; what it did before the start counts as t = 0. Raises LabError for
    what is not a switch's to tell."""
    for record in records:
        _check(switch, "switch", record)
        yield replace(record, t=max(0, record.t - origin_ns) // dilation, node=switch)


def _check(node: str, role: str, record: Record) -> None:
    problem = misplaced(role, node, replace(record, node=node))
    if problem is not None:
        raise LabError(node, problem)
