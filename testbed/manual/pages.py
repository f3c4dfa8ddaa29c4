"""Pages with parts that are made from the code.

A page of docs/ holds a marker, `<!-- generated: NAME -->`, where such a part stands. The repository keeps the marker
alone, so that no part can grow old.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from testbed.lab.cards.listing import map_markdown
from testbed.manual import commands, coverage, errors, events, figures, keys, steps

__all__ = ["PARTS", "filled"]

PARTS: Mapping[str, Callable[[], str]] = {
    **keys.TABLES,
    "checks": figures.all_checks,
    "commands": commands.all_commands,
    "coverage": coverage.all_coverage,
    "errors": errors.all_errors,
    "events": events.all_events,
    "exit codes": errors.exit_codes,
    "figures": figures.all_figures,
    "lab steps": steps.lab_steps,
    "registers": map_markdown,
}
_MARKER = re.compile(r"^<!-- generated: (.*?) -->$", re.MULTILINE)


def filled(page: str) -> str:
    """The Markdown of a page with its parts. Raises KeyError for a part that is not known."""
    return _MARKER.sub(lambda found: PARTS[found[1]]().strip("\n"), page)
