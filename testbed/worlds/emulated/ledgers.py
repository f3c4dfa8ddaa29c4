"""The ledger of one run."""

from __future__ import annotations

import secrets
from pathlib import Path

from testbed.kernel.ledger import Ledger, state_dir
from workloads.errors import HostCapabilityError

__all__ = ["open_ledger"]

_NAME_PART = 100
"""of a run directory's name, so that the folder of the state stays below 255 bytes"""


def open_ledger(run_dir: Path) -> Ledger:
    """Raises HostCapabilityError where the state folder cannot be written."""
    run = f"{run_dir.name[:_NAME_PART]}.{secrets.token_hex(3)}"
    try:
        return Ledger.create(run, run_dir)
    except OSError as error:
        raise HostCapabilityError(
            f"a folder for run state ({state_dir()}: {error.strerror})", "set INA_STATE_DIR to one that can be written"
        ) from error
