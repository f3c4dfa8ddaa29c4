"""What a guided hunt says at its end: what was reached, what was not, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from testbed.hunt.behaviour import meanings_of_kind
from testbed.hunt.corpus import COMMON, Corpus
from testbed.hunt.transitions import steps_of_kind
from testbed.hunt.unseen import chao2, wilson
from testbed.terminal.words import amount

__all__ = ["guided_document", "guided_lines"]

_POINTS = 12
"""of the curve"""
_QUIET = 0.01
"""the stopping rule: less than one schedule in a hundred brings something new"""


def guided_document(corpus: Corpus, kind: str) -> dict[str, Any]:
    """`kind`: of hunt. Counts end at `COMMON` fresh schedules."""
    fresh = corpus.fresh_hits
    counts = Counter(fresh.values())
    after_step = _after_steps(corpus, kind)
    return {
        "schedules": corpus.schedules,
        "fresh": corpus.fresh,
        "kept": len(corpus.entries),
        "behaviours": len(corpus.first),
        "by_mutation_alone": sum(not fresh[name] for name in corpus.first),
        "next_brings_something_new": asdict(wilson(corpus.alone, corpus.fresh)),
        "unseen_share": asdict(chao2(len(+fresh), counts[1], counts[2], max(1, corpus.fresh))),
        "last_new": max(corpus.first.values(), default=None),
        "may_stop": wilson(corpus.alone, corpus.fresh).high < _QUIET,
        "curve": _thinned(corpus.curve),
        "counted_up_to": COMMON,
        "sometimes": {mark: corpus.hits[f"sometimes {mark}"] for mark in meanings_of_kind(kind)},
        "steps_by_fault": after_step,
    }


def _after_steps(corpus: Corpus, kind: str) -> dict[str, int]:
    """Step -> kinds of faults (or none) after which it was taken, of the steps that can happen."""
    held, impossible = steps_of_kind(kind)
    pairs = {tuple(name[5:].split(" | ")[:2]) for name in corpus.first if name.startswith("step ")}
    counts = Counter(step for step, _ in pairs)
    return {step: counts[step] for step in held if step not in impossible}


def _thinned(curve: list[tuple[int, int]]) -> list[list[int]]:
    """About `_POINTS` points, each at twice as many schedules as the one before; and the last one."""
    points, wanted = list[list[int]](), 1
    for schedules, met in curve:
        if schedules >= wanted or (schedules, met) == curve[-1]:
            points.append([schedules, met])
            wanted = 2 * schedules
    return points


def guided_lines(guided: dict[str, Any]) -> Iterator[str]:
    """Of the content of `guided_document`."""
    yield (
        f"Guided search: {guided['behaviours']:,} behaviours met, {guided['by_mutation_alone']:,} of them by mutated "
        f"schedules alone; {amount(guided['kept'], 'schedule')} kept"
    )
    new, unseen = guided["next_brings_something_new"], guided["unseen_share"]
    of = f"estimates from the {amount(guided['fresh'], 'fresh schedule')}, with 95 % intervals"
    yield f"  the next fresh schedule brings something new: {_percent(new)} ({of})"
    yield f"  behaviours that fresh schedules could still meet: {_percent(unseen)} of all, or more"
    if guided["last_new"] is not None:
        yield f"  last new behaviour: schedule {guided['last_new']:,}"
    rule = "the upper bound is below 1 %, so more schedules promise little" if guided["may_stop"] else (
        "go on until the upper bound of the first estimate is below 1 %"
    )  # fmt: skip
    yield f"  stopping rule: {rule}"
    yield "  behaviours by schedules: " + ", ".join(f"{met:,} by {after:,}" for after, met in guided["curve"])
    most = guided["counted_up_to"]
    reached = {mark: f"{count:,}{' or more' if count >= most else ''}" for mark, count in guided["sometimes"].items()}
    yield "  sometimes: " + ", ".join(f"{mark} {count}" for mark, count in reached.items())
    calm = [step for step, count in guided["steps_by_fault"].items() if count == 1]
    if calm:
        yield f"  steps taken after one kind of fault alone: {', '.join(calm)}"


def _percent(estimate: dict[str, float]) -> str:
    value, low, high = (f"{100 * estimate[key]:.2g}" for key in ("value", "low", "high"))
    return f"{value} % ({low} to {high})"
