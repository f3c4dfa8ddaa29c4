"""What people and programs read of an explanation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from testbed.explain.contract import NodeWait
from testbed.explain.explanation import Explanation
from testbed.faults.base import Fault, LinkFault, NodeFault, Window
from testbed.faults.healing import kind_of
from testbed.scenario.own_program import code_words
from testbed.terminal.folding import fold_lines
from testbed.terminal.numbers import moment
from testbed.terminal.shellwords import shell_words
from testbed.terminal.stream import PROSE
from testbed.terminal.words import amount

__all__ = ["explanation_document", "explanation_text"]

_SHOWN = 24
"""waits in the text; the document has all"""


def explanation_document(found: Explanation, before: int, file: str | None) -> dict[str, Any]:
    """`before`: number of faults of the run; `file`: the scenario with the smallest set."""
    return {
        "stalled": list(found.stalled),
        "at_ns": found.at_ns,
        "gave_up": list(found.gave_up),
        "waits": [_as_json(wait) for wait in found.waits],
        "circle": [_as_json(wait) for wait in found.circle],
        "ends": list(found.ends),
        "out_of_order": dict(found.out_of_order),
        "faults_before": before,
        "faults": [fault.name for fault in found.smallest.faults],
        "tries": found.smallest.tries,
        "minimal": found.smallest.minimal,
        "file": file,
    }


def explanation_text(found: Explanation, before: int, file: str | None, width: int = PROSE) -> str:
    """Ends with a newline."""
    return "".join(f"{row}\n" for row in fold_lines(_lines(found, before, file), width))


def _as_json(wait: NodeWait) -> dict[str, Any]:
    return {"node": wait.node, "what": wait.what, "of": wait.of, "timer_ns": wait.timer_ns}


def _lines(found: Explanation, before: int, file: str | None) -> Iterator[str]:
    if not found.stalled:
        yield "The job does not stall in virtual time: every worker finishes."
        return
    yield f"{', '.join(found.stalled)} did not finish; in virtual time the run ended at {moment(found.at_ns)}."
    yield from (f"  {text}" for text in found.gave_up)
    yield ""
    yield "Who waits for what"
    for wait in found.waits[:_SHOWN]:
        timer = "" if wait.timer_ns is None else f" (timer at {moment(wait.timer_ns)})"
        yield f"  {wait.node} waits for {wait.what}" + (f", from {wait.of}" if wait.of != wait.node else "") + timer
    if len(found.waits) > _SHOWN:
        yield f"  and {len(found.waits) - _SHOWN:,} more"
    yield from (f"  {place} {what}" for place, what in found.out_of_order.items())
    if not found.waits and not found.out_of_order:
        yield "  nothing is known: this protocol does not report what its nodes wait for"
    yield ""
    if found.circle:
        yield "Circle: " + " -> ".join((*(wait.node for wait in found.circle), found.circle[0].node))
    elif found.ends:
        yield f"No circle. All waiting ends at {', '.join(found.ends)}."
    yield ""
    smallest = found.smallest
    if not smallest.faults:
        yield "The job stalls without any fault."
    else:
        proved = "none can be left out" if smallest.minimal else "the search ended at its limit"
        had = f"the run had {amount(before, 'fault')}"
        yield f"Smallest set of faults that still stalls it: {len(smallest.faults)} ({had}; {proved}):"
        yield from (f"  {fault.name}: {_fault_text(fault)}" for fault in smallest.faults)
    if file is not None:
        words = ["./tb", "run", file, "--world", "simulated", *code_words(found.scenario)]
        yield f"Scenario with these faults: {shell_words(words)}"


def _fault_text(fault: Fault) -> str:
    """Kind, place and time."""
    text = kind_of(fault)
    if isinstance(fault, LinkFault):
        text += f" on {', '.join(fault.links)} {' and '.join(fault.directions)}"
    elif isinstance(fault, NodeFault):
        text += f" of {fault.node}"
    window: Window | None = getattr(fault, "window", None)
    if window is None or window == Window():
        return text
    if window.stop_ns is None:
        return f"{text} from {moment(window.start_ns)}"
    if window.stop_ns == window.start_ns + 1:
        return f"{text} at {moment(window.start_ns)}"
    return f"{text} from {moment(window.start_ns)} until {moment(window.stop_ns)}"
