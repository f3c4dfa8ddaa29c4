"""Every all-reduce as a line of a CSV file, on the disk as soon as it is done."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from types import TracebackType

from testbed.bench.peers.cases import RATE_BPS, Sample
from workloads.errors import ScenarioError
from workloads.trusted import require_trusted

__all__ = ["COLUMNS", "SampleFile"]

COLUMNS = (
    "subject", "hosts", "size_bytes", "rate_bps", "loss", "repeat", "seconds", "multiple", "lost", "dilation",
    "deviation", "fidelity", "reasons", "machine",
)  # fmt: skip


class SampleFile:
    """A new file. Raises ScenarioError when there is one of the name, or when it cannot be written."""

    def __init__(self, path: Path, machine: str) -> None:
        self._path, self._machine = path, machine
        require_trusted(path)
        try:
            self._file = path.open("x", encoding="utf-8", newline="")
        except FileExistsError as error:
            raise ScenarioError("is there already", file=str(path), key="--csv", allowed="a new file") from error
        except OSError as error:
            raise self._refused(error) from error
        self._write(COLUMNS)

    def __enter__(self) -> SampleFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, sample: Sample) -> None:
        case = sample.case
        self._write(
            (
                sample.subject, case.hosts, case.size_bytes, RATE_BPS, case.loss, sample.repeat,
                f"{sample.seconds:.6f}", f"{sample.multiple:.4f}", sample.lost, sample.dilation,
                "" if sample.deviation is None else f"{sample.deviation:.4f}", sample.fidelity,
                " ".join("; ".join(sample.reasons).split()), self._machine,
            )
        )  # fmt: skip

    def _write(self, values: tuple[object, ...]) -> None:
        try:
            csv.writer(self._file, lineterminator="\n").writerow(values)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> ScenarioError:
        return ScenarioError(f"cannot be written: {error.strerror or error}", file=str(self._path), key="--csv")
