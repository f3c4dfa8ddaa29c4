"""Commands that look into Machines run with the Python source of all modules: compiled Machines hide their state."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from testbed.terminal.standard import print_document
from workloads.native.compiled import compiled_status

__all__ = ["again_interpreted"]


def again_interpreted(words: Sequence[str], *, json: bool) -> int | None:
    """Run the command again in a process with interpreted modules, and return its exit code. None: this process has
    them already. `words`: of the command line, without the program; `json`: whether stdout is for a document alone."""
    if not compiled_status().available:
        return None
    command = [sys.executable, "-P", "-m", "testbed", *words]
    done = subprocess.run(
        command, env=os.environ | {"INA_NATIVE": "0"}, stdout=subprocess.PIPE if json else None, check=False
    )
    if done.stdout:
        print_document(done.stdout.decode())
    return done.returncode
