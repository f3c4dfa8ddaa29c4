"""An unexpected error: the traceback goes into the run directory, and the user learns how to run it again."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from testbed.terminal.shellwords import shell_words
from testbed.terminal.stream import complain, shown_path
from workloads.errors import ScenarioError
from workloads.trusted import make_folder, require_trusted, write_file

__all__ = ["report_crash"]

_TICK_S = 0.02
"""stamps of files come from a clock of the kernel that moves once per tick, so a new file may look that much older"""


def report_crash(error: Exception, words: Sequence[str], began: float, runs: Path = Path("runs")) -> None:
    """`began`: wall-clock time in seconds when the command started."""
    folder = _run_dir(error, words, began, runs)
    complain(f"tb: internal error: {type(error).__name__}: {error}")
    try:
        require_trusted(folder)
        make_folder(folder)
        path = folder / "traceback.txt"
        write_file(path, "".join(traceback.format_exception(error)))
        complain(f"tb: traceback:     {shown_path(path)}", f"tb: run directory: {shown_path(folder)}")
    except (OSError, ScenarioError) as problem:
        traceback.print_exception(error)
        why = problem.strerror if isinstance(problem, OSError) else problem.found
        complain(f"tb: {folder} cannot be written: {why}")
    complain(f"tb: run it again:  ./tb {shell_words(words)}")


def _run_dir(error: Exception, words: Sequence[str], began: float, runs: Path) -> Path:
    """Of the run that crashed: the error's own `run_dir`, `--out`, what `runs/latest` has pointed at since, or a new
    one."""
    own = getattr(error, "run_dir", None)
    if own is not None:
        return Path(own)
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word == "--out" or word.startswith("--out="):
            return Path(word.partition("=")[2] or after)
    latest = runs / "latest"
    if latest.is_symlink() and latest.lstat().st_mtime >= began - _TICK_S:
        return runs / latest.readlink()
    return runs / time.strftime("%Y%m%d-%H%M%S-crash", time.localtime(began))
