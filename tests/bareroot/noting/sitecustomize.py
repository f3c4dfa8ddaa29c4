"""With this folder in PYTHONPATH every Python process notes the programs that it starts, in the file INA_PROGRAMS_LOG."""

import contextlib
import os

from tests.bareroot.starts import note_starts

_LOG = os.environ.get("INA_PROGRAMS_LOG")


def _note(program: str) -> None:
    # A host of an emulated lab does not see the file.
    with contextlib.suppress(OSError):
        handle = os.open(str(_LOG), os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            os.write(handle, f"{program}\n".encode())
        finally:
            os.close(handle)


if _LOG:
    note_starts(_note)
