"""What a rank's Python must find on its path so that `import torch` knows the backend `ina`, also where this project is
not installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import workloads

__all__ = ["make_site", "remove_site"]

ENTRY_POINT = "ina = workloads.torch_backend:register"


def make_site(folder: Path) -> Path:
    """A folder for PYTHONPATH with the package that torch loads, its entry point, and nothing else of ours."""
    folder.mkdir()
    (folder / "workloads").symlink_to(Path(workloads.__path__[0]).resolve())
    metadata = folder / "ina_testbed_backend-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: ina-testbed-backend\nVersion: 1\n", encoding="utf-8"
    )
    (metadata / "entry_points.txt").write_text(f"[torch.backends]\n{ENTRY_POINT}\n", encoding="utf-8")
    return folder


def remove_site(folder: Path) -> None:
    """What `make_site` made, if it is there, and nothing else."""
    if folder.is_dir() and not folder.is_symlink() and (folder / "workloads").is_symlink():
        (folder / "workloads").unlink()
        shutil.rmtree(folder)
