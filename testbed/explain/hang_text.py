"""What people and programs read of a hang."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from testbed.explain.hang import Hang
from testbed.terminal.folding import fold_lines
from testbed.terminal.stream import PROSE

__all__ = ["hang_document", "hang_text"]


def hang_document(found: Hang) -> dict[str, Any]:
    return {
        "ranks": list(found.dumps),
        "without_dump": list(found.lost),
        "calls": [
            {
                "what": call.text, "waiting": list(call.waiting), "missing": list(call.missing),
                "differs": call.differs, "late": list(call.late),
            }
            for call in found.calls
        ],
        "circle": [wait.node for wait in found.circle],
        "ends": list(found.ends),
        "newest": {str(rank): text for rank, text in found.newest.items()},
    }  # fmt: skip


def hang_text(found: Hang, width: int = PROSE) -> str:
    """Ends with a newline."""
    return "".join(f"{row}\n" for row in fold_lines(_lines(found), width))


def _lines(found: Hang) -> Iterator[str]:
    yield f"Flight recorders of {_ranks(found.dumps)}."
    if found.lost:
        yield f"No dump of {_ranks(found.lost)}."
    if not found.calls:
        yield "Every collective that a rank posted is complete: no rank waits for another."
    for call in found.calls:
        yield ""
        yield f"{_ranks(call.waiting)} wait{'s' if len(call.waiting) == 1 else ''} in {call.text}."
        if call.differs:
            yield f"  The posts differ: {call.differs}."
        elif call.missing:
            yield f"  {_ranks(call.missing)} did not post it."
        elif call.late:
            yield f"  {_ranks(call.late)} posted it and did not start it."
        else:
            yield "  All its ranks posted the same: the network, or a rank's device, did not complete it."
    yield ""
    if found.circle:
        yield "Circle: " + " -> ".join((*(wait.node for wait in found.circle), found.circle[0].node))
    elif found.ends:
        yield f"No circle. All waiting ends at {', '.join(found.ends)}."
    yield "Last posts"
    yield from (f"  rank {rank}: {text}" for rank, text in found.newest.items())


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'' if len(ranks) == 1 else 's'} {', '.join(map(str, ranks))}"
