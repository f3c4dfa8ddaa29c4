"""What people read of an exploration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from testbed.terminal.folding import fold_lines
from testbed.terminal.stream import PROSE
from testbed.terminal.words import amount

__all__ = ["bound_sentence", "summary_text"]


def bound_sentence(document: dict[str, Any]) -> str:
    """What was visited, in a sentence that a paper can quote."""
    return (
        "Every interleaving of frames and of timers that expire while no frame waits, with at most "
        f"{amount(document['faults'], 'fault')} (a frame lost, copied or held back)."
    )


def summary_text(document: dict[str, Any], width: int = PROSE) -> str:
    """Ends with a newline."""
    return "".join(f"{row}\n" for row in fold_lines(_lines(document), width))


def _lines(document: dict[str, Any]) -> Iterator[str]:
    sizes = [amount(document[f"{word}s"], word) for word in ("worker", "slot", "block") if document[f"{word}s"]]
    yield f"States of {document['name']}: {', '.join(sizes)}"
    yield f"  {bound_sentence(document)}"
    yield ""
    by_faults = ", ".join(f"{count:,} with {faults}" for faults, count in enumerate(document["states_by_faults"]))
    yield f"States       {document['states']:,} (by faults: {by_faults})"
    yield f"Transitions  {document['transitions']:,}"
    yield f"Depth        {document['depth']:,}"
    yield "Of nodes     " + ", ".join(f"{name} {count:,}" for name, count in document["local_states"].items())
    yield f"Time         {document['seconds']:,.1f} s"
    yield f"Memory       {document['memory_bytes'] / 1e6:,.0f} MB"
    yield ""
    for violation in document["violations"]:
        yield f"Verdict: FAIL      {violation['check']}: {violation['detail']}"
        yield f"  after {amount(violation['faults'], 'fault')} and {amount(violation['steps'], 'step')}:"
        for number, text in enumerate(violation["trace"], 1):
            yield f"  {number:4}  {text}"
        if violation["replay"] is None:
            yield "  no scenario: no run in virtual time comes to these packets"
        elif violation["replay_fails"]:
            yield f"  replay (fails {violation['replay_fails']}): {violation['replay']}"
        else:
            yield f"  the same faults, at times at which no check fails: {violation['replay']}"
    if document["violations"]:
        return
    if document["limit"]:
        yield f"Verdict: UNKNOWN   stopped after {document['limit']}; no rule was broken so far"
    else:
        yield "Verdict: PASS      no state breaks a rule, and from each of them the job can end"
