"""Which programs of the system Python code starts, told as it starts them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["behind", "note_starts", "program_of"]

_SYSTEM = ("/bin/", "/sbin/", "/usr/")


def program_of(command: Any, environment: Any = None) -> str | None:
    """Name of the program that `command` (argument list, or a path) starts; None for what is no program of the system:
    Python, our own scripts, stand-ins of tests, what is not there."""
    first = command[0] if isinstance(command, list | tuple) and command else command
    name = os.fsdecode(first) if isinstance(first, str | bytes | os.PathLike) else ""
    path = (environment or {}).get("PATH", os.environ.get("PATH"))
    found = name if "/" in name else shutil.which(name, path=f"{path}:/usr/sbin:/sbin") if name else None
    base = os.path.basename(name)
    if found is None or not found.startswith(_SYSTEM) or not os.path.exists(found) or base.startswith("python"):
        return None
    return base


def behind(command: Any) -> Any:
    """What `nsenter`, or a script `sh -c SCRIPT sh COMMAND...`, starts; None for other commands."""
    words = list(map(str, command)) if isinstance(command, list | tuple) else []
    if words[1:2] == ["-c"] and words[3:4] == ["sh"]:
        return words[4:] or None
    if words[:1] != ["nsenter"]:
        return None
    words = words[1:]
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in ("-t", "-S", "-G") else words[1:]
    return words or None


def note_starts(tell: Callable[[str], None]) -> None:
    """From here on, for as long as this process lives: `tell` gets the name of each program when it is started."""

    def heard(event: str, details: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen":
            _, command, _, environment = details
        elif event in ("os.exec", "os.posix_spawn"):
            command, _, environment = details
        elif event == "os.system":
            command, environment = "/bin/sh", None
        else:
            return
        for one in (command, behind(command)):
            if program := program_of(one, environment):
                tell(program)

    sys.addaudithook(heard)
