"""Commands that look into Machines run with the Python source of all modules: compiled Machines hide their state."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from workloads.native.compiled import compiled_status

__all__ = ["again_interpreted"]


def again_interpreted(words: Sequence[str]) -> int | None:
    """Run the command again in a process with interpreted modules, and return its exit code. None: this process has
    them already. `words`: of the command line, without the program."""
    if not compiled_status().available:
        return None
    command = [sys.executable, "-P", "-m", "testbed", *words]
    return subprocess.run(command, env=os.environ | {"INA_NATIVE": "0"}, check=False).returncode
