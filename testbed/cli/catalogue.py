"""`tb list`: what there is. Each list imports what it shows."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator

from testbed.terminal.folding import fold
from testbed.terminal.standard import print_document
from testbed.terminal.stream import prose_columns
from testbed.terminal.words import first_sentence

__all__ = ["run_list"]


def _scenarios() -> Iterator[tuple[str, str]]:
    from testbed.scenario.builtin import builtin_summaries

    for name, description, expect in builtin_summaries():
        first = first_sentence(description)
        yield name, first if expect == "pass" else f"{first} (expect: {expect})"


def _topologies() -> Iterator[tuple[str, str]]:
    from testbed.reading.documentation import plain_text
    from testbed.reading.sections import names_of
    from testbed.scenario.keys.topology_kinds import TOPOLOGY_KINDS

    for name, kind in TOPOLOGY_KINDS.items():
        yield name, f"{plain_text(kind.meaning)}; keys: {', '.join(names_of(kind.keys))}"


def _programs() -> Iterator[tuple[str, str]]:
    from testbed.scenario.protocols.names import PROGRAMS

    return iter(PROGRAMS.items())


def _protocols() -> Iterator[tuple[str, str]]:
    from testbed.scenario.protocols.names import PROTOCOLS

    return iter(PROTOCOLS.items())


def _transports() -> Iterator[tuple[str, str]]:
    from testbed.scenario.transports import known_transports

    for each in known_transports():
        words = f"match.kind: {', '.join(each.kinds)}" if each.kinds else "match.opcode"
        timers = ", ".join(f"{name} ({what})" for name, what in each.timers.items())
        kept = f"; switches keep {each.transparent}" if each.transparent else ""
        yield each.name, f"{each.summary}; {words}{kept}; timers: {timers}"


def _planners() -> Iterator[tuple[str, str]]:
    from testbed.scenario.protocols.names import PLANNERS

    return iter(PLANNERS.items())


def _sweeps() -> Iterator[tuple[str, str]]:
    from testbed.sweeps import builtin_sweeps, describe_sweep

    return ((name, describe_sweep(name).partition("\n")[0]) for name in builtin_sweeps())


def _faults() -> Iterator[tuple[str, str]]:
    from testbed.faults.kinds import FAULT_KINDS

    return ((name, kind.meaning) for name, kind in FAULT_KINDS.items())


_LISTS: dict[str, Callable[[], Iterator[tuple[str, str]]]] = {
    "scenarios": _scenarios,
    "topologies": _topologies,
    "programs": _programs,
    "protocols": _protocols,
    "transports": _transports,
    "planners": _planners,
    "sweeps": _sweeps,
    "faults": _faults,
}


def run_list(args: argparse.Namespace) -> int:
    chosen = [args.what] if args.what else list(_LISTS)
    if args.json:
        found = {what: [{"name": name, "meaning": meaning} for name, meaning in _LISTS[what]()] for what in chosen}
        print_document(json.dumps({"schema": 2, **found}, indent=1, ensure_ascii=False))
        return 0
    room = prose_columns(sys.stdout)
    for number, what in enumerate(chosen):
        rows = list(_LISTS[what]())
        if not args.what:
            print(("" if number == 0 else "\n") + f"{what}:")
        width = max(len(name) for name, _ in rows)
        for name, meaning in rows:
            label = f"{'' if args.what else '  '}{name:{width}}  "
            print("\n".join(fold(meaning, room, label, " " * len(label))))
    return 0
