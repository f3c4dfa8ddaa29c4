"""With this folder in PYTHONPATH every Python process notes the programs that it starts, in the file
INA_PROGRAMS_LOG."""

import contextlib
import os

from tests.bareroot.starts import note_starts

_LOG = os.environ.get("INA_PROGRAMS_LOG")

if _LOG:
    # Open from the start: a host of an emulated lab has files of its own.
    _HANDLE = os.open(_LOG, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    def _note(program: str) -> None:
        with contextlib.suppress(OSError):
            os.write(_HANDLE, f"{program}\n".encode())

    note_starts(_note)
