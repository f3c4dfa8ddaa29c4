"""What an archive says of the machine that made it, on request: no names of hosts or users."""

from __future__ import annotations

import os
import platform
from pathlib import Path

__all__ = ["machine"]


def machine() -> dict[str, str | int]:
    return {"cpu": _cpu(), "cores": os.cpu_count() or 1, "kernel": f"{platform.system()} {platform.release()}"}


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())
