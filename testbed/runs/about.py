"""What the page of a run takes from its directory: when the run began, which captures are there, and what its reference
run did."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from testbed.report.html import About
from testbed.report.reference import read_reference

__all__ = ["about"]


def about(run_dir: Path, page_folder: Path | None = None) -> About:
    """`page_folder`: where the page will lie, when not in the run directory, so that its links lead there."""
    began = datetime.fromtimestamp((run_dir / "scenario.yaml").stat().st_mtime, UTC)
    captures = sorted(run_dir.glob("*.pcapng")) + sorted((run_dir / "pcap").rglob("*.pcapng"))
    links = tuple(os.path.relpath(path, page_folder or run_dir) for path in captures)
    return About(began.strftime("%Y-%m-%d %H:%M:%S UTC"), links, read_reference(run_dir))
