"""Work that runs code of the user's own, apart from the script that asks for it. Code that ends its process, or never
returns, is an error of that script and does not end it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from testbed.kernel.overdue import LIMIT_S, named_code
from workloads.blame import how_ended
from workloads.errors import ScenarioError

__all__ = ["contained"]

_T = TypeVar("_T")


def contained(
    work: Callable[[Callable[[Any], None] | None], _T], hear: Callable[[Any], None] | None, words: Sequence[str]
) -> _T:
    """`work(hear)`, in a process of its own where one of `words` names code of the user's own. Raises ScenarioError
    where that code ended the process."""
    code = named_code(words)
    if not code:
        return work(hear)
    from testbed.kernel.apart import Ended, run_apart  # what runs only our code needs nothing of Linux

    try:
        return run_apart(lambda tell: work(None if hear is None else tell), hear or (lambda told: None))
    except Ended as end:
        file, _, name = code[0].rpartition(":")
        what = f"ended the process that ran it ({how_ended(end.status)})"
        if end.overdue:
            what = f"took longer than {LIMIT_S:g} s and did not return"
        raise ScenarioError(f"the code of {name} {what}: no verdict", file=file) from end
    except KeyboardInterrupt:
        from testbed.kernel.cleanup import clean
        from testbed.runs.needs import is_root

        if is_root():
            clean()  # what the process that we ended had made
        raise
