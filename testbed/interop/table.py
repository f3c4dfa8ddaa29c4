"""What a suite showed, as Markdown: a row per case, and one line on what rule A saves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from testbed.history.verdict import merge
from testbed.interop.judging import CaseOutcome

__all__ = ["markdown_table", "rule_a_line"]

_RULE_A = (("loss/middle", "asap/middle"), ("chance/loss-1", "asap/loss-1"))
"""the same faults, with results released in PSN order (rule A) and as soon as they are complete"""


def markdown_table(outcomes: Sequence[CaseOutcome]) -> str:
    """A row per case in the order in which they first stand; of several rounds the worst verdict, and least to most.
    Then the line on rule A, where its cases ran. Ends with a line break."""
    rows = ["| case | hits | packets | sent again | verdict |", "|---|---|---|---|---|"]
    for case, rounds in _by_case(outcomes).items():
        traffic = [one.traffic for one in rounds if one.traffic is not None]
        verdict = merge(one.verdict for one in rounds)
        times = f" ({len(rounds)} rounds)" if len(rounds) > 1 else ""
        rows.append(
            f"| {case} | {_span(one.strikes for one in rounds)} | {_span(t.data_packets for t in traffic)} | "
            f"{_span(t.retransmissions for t in traffic)} | {verdict}{times} |"
        )
    line = rule_a_line(outcomes)
    return "\n".join([*rows, *(["", line] if line else [])]) + "\n"


def rule_a_line(outcomes: Sequence[CaseOutcome]) -> str:
    """One sentence; empty when no pair of cases ran."""
    rounds, parts = _by_case(outcomes), []
    for ordered, asap in _RULE_A:
        with_rule, without = _per_strike(rounds.get(ordered, [])), _per_strike(rounds.get(asap, []))
        if with_rule is None or without is None:
            continue
        ratio = f", {without / with_rule:.1f} times as many" if with_rule else ""
        parts.append(f"{with_rule:.1f} in `{ordered}`, {without:.1f} in `{asap}`{ratio}")
    if not parts:
        return ""
    unit = "packets sent again per hit of a fault"
    return f"Rule A (release in PSN order) against release as soon as complete, {unit}: {'; '.join(parts)}."


def _by_case(outcomes: Iterable[CaseOutcome]) -> dict[str, list[CaseOutcome]]:
    found: dict[str, list[CaseOutcome]] = {}
    for one in outcomes:
        found.setdefault(one.case, []).append(one)
    return found


def _per_strike(rounds: Sequence[CaseOutcome]) -> float | None:
    """Over all rounds, since chance hits unequally often; None when no fault hit a packet before a capture."""
    judged = [one for one in rounds if one.traffic is not None]
    strikes = sum(one.strikes for one in judged)
    return sum(one.traffic.retransmissions for one in judged if one.traffic) / strikes if strikes else None


def _span(values: Iterable[int]) -> str:
    found = sorted(values)
    if not found:
        return "-"
    return str(found[0]) if found[0] == found[-1] else f"{found[0]} to {found[-1]}"
