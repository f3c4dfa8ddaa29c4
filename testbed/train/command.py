"""The command of the ranks, looked at before anything starts."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from workloads.errors import ScenarioError

__all__ = ["checked_command"]

_INTERPRETERS = re.compile(r"(?:python|pypy)[0-9.]*\Z|(?:ba|da|z|k)?sh\Z")
_WITH_VALUE = ("-W", "-X", "-o", "+o", "--check-hash-based-pycs")
"""options of interpreters that take the next word"""
_NO_SCRIPT = ("-c", "-m", "-s", "-")
"""options after which no script comes: a text, a module, standard input"""


def checked_command(words: Sequence[str]) -> list[str]:
    """What each rank runs. A file that ends in .py runs with our Python. Raises ScenarioError where the program or the
    script is not there or cannot be read."""
    if not words:
        raise _refuse("is missing", None, "what the ranks run, as: tb train rack -- python train.py")
    if words[0].endswith(".py"):
        _check_script(words[0])
        return [sys.executable, *words]
    if shutil.which(words[0]) is None:
        path = Path(words[0])
        problem = "cannot be executed" if path.exists() and os.sep in words[0] else "no such program"
        raise _refuse(problem, words[0], "a program on the PATH, as: -- python train.py")
    if _INTERPRETERS.match(Path(words[0]).name):
        script = _script_of(words[1:])
        if script is not None:
            _check_script(script)
    return list(words)


def _script_of(words: Sequence[str]) -> str | None:
    """The first word that is no option."""
    rest = iter(words)
    for word in rest:
        if word in _NO_SCRIPT or word.startswith(("-c", "-m")):
            return None
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith(("-", "+")):
            return word
    return None


def _check_script(name: str) -> None:
    path = Path(name)
    try:
        with path.open("rb"):
            return
    except IsADirectoryError:
        if (path / "__main__.py").is_file() and not name.endswith(".py"):
            return  # Python runs such a folder
        problem = "is a folder, not a script"
    except OSError as error:
        problem = "no such script" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
    except ValueError:
        problem = "no name of a file"
    raise _refuse(problem, name, "a file that is there, from this folder")


def _refuse(problem: str, found: str | None, allowed: str) -> ScenarioError:
    return ScenarioError(problem, file="tb train", key="COMMAND", found=found, allowed=allowed)
