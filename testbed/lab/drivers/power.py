"""Power of hosts: switched by a command on this machine."""

from __future__ import annotations

import subprocess

from testbed.lab.model import Host
from testbed.lab.ssh import tail
from workloads.errors import LabError

__all__ = ["POWER_TIMEOUT_S", "run_here"]

POWER_TIMEOUT_S = 60.0


def run_here(host: Host, argv: tuple[str, ...]) -> str:
    """The command, for people. Raises LabError."""
    shown = " ".join(argv)[:200]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=POWER_TIMEOUT_S, check=False)
    except OSError as error:
        raise LabError(host.name, f"`{shown}` could not be started here: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise LabError(host.name, f"`{shown}` did not end within {POWER_TIMEOUT_S:g} s") from None
    if done.returncode:
        raise LabError(host.name, f"`{shown}` ended with exit status {done.returncode}", tail(done.stdout, done.stderr))
    return shown
