"""What a hunt says at its end: as JSON, and as text made of that JSON."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from testbed.hunt.coverage import Coverage
from testbed.hunt.draw_fabric import FABRIC, RACK
from testbed.hunt.draw_pfc import PFC
from testbed.hunt.guided_summary import guided_lines
from testbed.hunt.transitions import steps_of_kind
from testbed.report.witnesses import slower_code
from testbed.terminal.folding import fold_lines
from testbed.terminal.stream import PROSE
from testbed.terminal.words import amount, times
from workloads.native.account import NATIVE

__all__ = ["hunt_document", "steps_document", "summary_text"]

_SCHEMA = 1
_PLACES = {RACK: "a rack", FABRIC: "a fabric", PFC: "a lossless rack"}


def hunt_document(
    name: str,
    seed: int,
    schedules: int,
    coverage: Coverage,
    code: dict[str, int],
    failure: dict[str, Any] | None,
    kind: str = RACK,
    own_program: str = "",
) -> dict[str, Any]:
    """`schedules`: asked for. `code`: schedules by the version that ran them. `failure`: as in failure.json, or None.
    `kind`: of hunt. `own_program`: the user's, as `path.py:Class`; empty: one of ours."""
    return {
        "schema": _SCHEMA,
        "hunt": name,
        "seed": seed,
        "schedules": schedules,
        "verdict": "pass" if failure is None else "fail",
        "failure": failure,
        "code": code,
        "coverage": coverage.as_json(),
        "transitions": steps_document(kind, coverage.transitions, own_program if coverage.traced else ""),
    }


def steps_document(kind: str, taken: Mapping[str, int], own_program: str = "") -> dict[str, Any]:
    """Steps of the tables: those that were taken, that cannot happen and that were never taken. `taken`: how often.
    `own_program`: a table of the project does not count if it takes no step of it."""
    held, impossible = steps_of_kind(kind)
    lacks = _tables_without(held, taken) if own_program else ()
    held = tuple(name for name in held if _table_of(name) not in lacks)
    impossible = {name: why for name, why in impossible.items() if _table_of(name) not in lacks}
    return {
        "of": _PLACES.get(kind, kind),
        "held": len(held),
        "taken": sum(name in taken for name in held),
        "impossible": dict(sorted(impossible.items())),
        "taken_though_impossible": sorted(name for name in impossible if name in taken),
        "lacks": list(lacks),
        "lacked_by": own_program if lacks else "",
        "never": [name for name in held if name not in taken and name not in impossible],
    }


_OF_SWITCHES = ("frame", "connection", "slot", "leaf_slot")
"""tables of our switch programs; a program of the user's own may have others, or none"""


def _table_of(step: str) -> str:
    return step.partition(" ")[0]


def _tables_without(held: tuple[str, ...], taken: Container[str]) -> tuple[str, ...]:
    """Tables of our switch programs without a recorded step."""
    seen = {_table_of(step) for step in held if step in taken}
    return tuple(table for table in _OF_SWITCHES if table not in seen and any(_table_of(s) == table for s in held))


def summary_text(document: dict[str, Any], width: int = PROSE) -> str:
    """Ends with a newline."""
    return "".join(f"{row}\n" for row in fold_lines(_lines(document), width))


def _lines(document: dict[str, Any]) -> Iterator[str]:
    coverage, failure = document["coverage"], document["failure"]
    asked = amount(document["schedules"], "schedule")
    yield f"{document['hunt']}, seed {document['seed']}: {coverage['schedules']:,} of {asked}"
    yield f"  every worker finished in {coverage['completed']:,}"
    for reason, count in coverage["told"].items():
        yield f"  {count:,} ended early and reported it, as they may: {reason}"
    if broken := coverage["schedules"] - coverage["completed"] - sum(coverage["told"].values()):
        yield (
            f"  {broken:,} did not finish, and nothing in {'its schedule' if broken == 1 else 'their schedules'} "
            "allows that"
        )
    if slower := slower_code({"code": document.get("ran", NATIVE)}):
        yield f"  code that ran: {slower}"
    yield ""
    yield "Faults that hit"
    for kind, count in sorted(coverage["struck"].items(), key=lambda item: -item[1]):
        often = coverage["strikes"][kind]
        yield f"  {kind:12} {often:>9,} {'time ' if often == 1 else 'times'}, in {amount(count, 'schedule')}"
    yield ""
    yield "Values drawn (schedules)"
    for name, counts in coverage["drawn"].items():
        if len(counts) > 24:
            yield f"  {name}: {len(counts):,} different ones"
        else:
            yield f"  {name}: " + ", ".join(f"{value} {times(count)}" for value, count in counts.items())
    yield ""
    steps = document["transitions"]
    possible = steps["held"] - len(steps["impossible"])
    taken = possible - len(steps["never"])
    traced = f"({amount(coverage['traced'], 'schedule')} traced)"
    if steps["held"]:
        yield f"Transitions of the tables: {taken} of {possible} taken {traced}"
    else:
        yield f"Transitions of the tables: none to count {traced}"
    if steps["lacks"]:
        text = (
            f"{', '.join(steps['lacks'])}: tables of our switch programs; {steps['lacked_by']} reported no step of them"
        )
        yield f"  not counted: {text}"
    if steps["never"]:
        yield f"  never taken: {', '.join(steps['never'])}"
    if steps["taken_though_impossible"]:
        yield f"  taken though listed as impossible: {', '.join(steps['taken_though_impossible'])}"
    if steps["held"]:
        yield f"  {len(steps['impossible'])} of {steps['held']} cannot happen in {steps['of']} (summary.json says why)"
    yield ""
    if "guided" in document:
        yield from guided_lines(document["guided"])
        yield ""
    if failure is None:
        yield "Verdict: PASS      no schedule broke a rule"
        return
    yield f"Verdict: FAIL      schedule {failure['number']} breaks {failure['check']}"
    yield f"  {failure['detail']}"
    least = "no simpler one fails" if failure["minimal"] else "the search for a simpler one was cut short"
    yield f"  shrunk in {failure['tries']:,} tries ({least}): {failure['file']}"
    yield f"  replay: {failure['replay']}"
