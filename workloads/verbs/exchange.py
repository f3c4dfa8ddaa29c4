"""How the ranks of a ring learn each other's names without a control channel: files in a folder that all of them see.

One file per rank and stage, `RING-STAGE-RANK.json`, written whole and renamed into place. A folder serves one job.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from workloads.errors import LabError, ScenarioError

__all__ = ["FolderExchange"]

_LOOK_S = 0.02


class FolderExchange:
    """One rank's view. `clock` and `sleep` are those of `time`, unless a test has its own."""

    def __init__(
        self,
        folder: Path,
        ring_id: int,
        rank: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Raises ScenarioError when there is no such folder, or it holds files of this rank: of a job before."""
        self._folder, self._ring_id, self._rank = folder, ring_id, rank
        self._clock, self._sleep = clock, sleep
        if not folder.is_dir():
            raise ScenarioError("no such folder", file="tb worker", key="--exchange", found=str(folder))
        if any(folder.glob(f"{ring_id}-*-{rank}.json")):
            problem = f"the folder holds names of rank {rank} of ring {ring_id} from a job before"
            raise ScenarioError(
                problem, file="tb worker", key="--exchange", found=str(folder), allowed="an empty folder for every job"
            )

    def publish(self, stage: str, value: Mapping[str, Any]) -> None:
        """Raises LabError when the folder cannot be written."""
        path = self._path(stage, self._rank)
        fresh = path.with_suffix(".new")
        try:
            fresh.write_text(json.dumps(value), encoding="utf-8")
            fresh.rename(path)
        except OSError as error:
            raise LabError(
                f"rank {self._rank}", f"cannot write to {self._folder}: {error.strerror or error}"
            ) from error

    def there(self, stage: str, ranks: Iterable[int]) -> bool:
        """Whether all of these ranks have published."""
        return all(self._path(stage, rank).exists() for rank in ranks)

    def gather(self, stage: str, ranks: Iterable[int], limit_s: float) -> dict[int, dict[str, Any]]:
        """What these ranks published, once all have. Raises LabError with those that did not within the limit."""
        wanted, deadline = tuple(ranks), self._clock() + limit_s
        while not self.there(stage, wanted):
            if self._clock() > deadline:
                missing = [str(rank) for rank in wanted if not self._path(stage, rank).exists()]
                problem = f"no {stage} of rank {', '.join(missing)} in {self._folder} within {limit_s:g} s"
                raise LabError(f"rank {self._rank}", problem)
            self._sleep(_LOOK_S)
        return {rank: json.loads(self._path(stage, rank).read_text(encoding="utf-8")) for rank in wanted}

    def _path(self, stage: str, rank: int) -> Path:
        return self._folder / f"{self._ring_id}-{stage}-{rank}.json"
