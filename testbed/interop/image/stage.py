"""Our Python code for the guest: the packages that the worker needs, copied, so that the guest sees nothing else of
ours."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

from workloads.errors import InternalError

__all__ = ["STAGED_PACKAGES", "stage_code"]

STAGED_PACKAGES = ("workloads", "testbed/__init__.py", "testbed/interop/__init__.py", "testbed/interop/protocol.py",
                   "testbed/interop/guest", "topologies")  # fmt: skip
"""what `testbed.interop.guest` imports"""
_STAGED_LIBRARY = {"cython": "cython.py", "Cython": "Cython/__init__.py", "Cython.Shadow": "Cython/Shadow.py"}
"""files of Cython that our modules import when they are not compiled, by module"""
_GUEST_PYTHON = "/usr/bin/python3"
"""the guest runs the host's /usr"""


def stage_code(top: Path, target: Path) -> None:
    """Make `target` from scratch, from the checkout `top`: Python sources and scripts, no caches and no compiled code
    (it is built for the host's processor)."""
    if target.exists():
        shutil.rmtree(target)
    ignore = shutil.ignore_patterns("__pycache__", "*.so", "*.c", "*.h")
    for name in STAGED_PACKAGES:
        source, copy = top / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=ignore)
        else:
            shutil.copy2(source, copy)
    for module, name in _STAGED_LIBRARY.items():
        found = importlib.util.find_spec(module)
        if found is None or not (found.origin or "").endswith(".py"):
            raise InternalError(f"Python's module {module} has no source file to copy: {found}")
        (target / name).parent.mkdir(exist_ok=True)
        shutil.copy2(str(found.origin), target / name)
    # An emulated processor compiles slowly. Without these files the guest would compile; so a failure costs only time.
    # -I: they are to lie beside the sources, whatever the environment says of caches.
    subprocess.run(
        [_GUEST_PYTHON, "-I", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(target)],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
