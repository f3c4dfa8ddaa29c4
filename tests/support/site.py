"""The documentation as a site: what it is made of, and its build."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["TOP", "build", "copy_of_the_pages"]

TOP = Path(__file__).resolve().parents[2]


def copy_of_the_pages(top: Path) -> Path:
    """What the site is made of. Only its pages are changed, so the rest are links."""
    for path in TOP.iterdir():
        if path.name in ("docs", "README.md", "mkdocs.yml"):
            (shutil.copytree if path.is_dir() else shutil.copy)(path, top / path.name)
        elif path.name not in ("build", ".venv", ".git", "runs"):
            (top / path.name).symlink_to(path)
    return top


def build(top: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "mkdocs", "build", "--strict"]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(top), "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=top, env=environment, capture_output=True, text=True, timeout=200, check=False)
