"""The ledger of one run."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.kernel.cleanup import find_leftovers, remove_run
from testbed.kernel.ledger import Ledger, state_dir
from workloads.errors import HostCapabilityError

__all__ = ["own_ledger"]

_NAME_PART = 100
"""of a run directory's name, so that the folder of the state stays below 255 bytes"""


@contextmanager
def own_ledger(run_dir: Path, leave: Callable[[tuple[str, ...]], object]) -> Iterator[Ledger]:
    """A ledger, until what it names is gone. `leave` gets the names of what is left over, if anything. Raises
    HostCapabilityError where the state folder cannot be written."""
    ledger = _open_ledger(run_dir)
    try:
        yield ledger
    finally:
        entries = ledger.entries()
        left = find_leftovers(entries)
        if left:
            leave(left)
        ledger.close()
        remove_run(ledger.folder, ledger.owner, entries)


def _open_ledger(run_dir: Path) -> Ledger:
    run = f"{run_dir.name[:_NAME_PART]}.{secrets.token_hex(3)}"
    try:
        return Ledger.create(run, run_dir)
    except OSError as error:
        raise HostCapabilityError(
            f"a folder for run state ({state_dir()}: {error.strerror})", "set INA_STATE_DIR to one that can be written"
        ) from error
