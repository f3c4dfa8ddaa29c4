"""The runs of a grid as a CSV file that grows run by run, and from which an interrupted grid goes on."""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from testbed.bench.ina.place import Place, Point
from testbed.bench.ina.runs import Figures
from testbed.bench.ina.subjects import ATP, MIXES, SUBJECTS, SWITCHML
from testbed.codeversion import code_version
from workloads.errors import ScenarioError

__all__ = ["COLUMNS", "KeptRuns"]

COLUMNS = (
    "mix", "protocol", "memory", "memory_per_sw", "slots", "seed", "repeat", "average_jct_s", "p95_jct_s", "busy", "useful",
    "collisions", "evictions", "resends", "server_bytes", "gain_over_atp", "gain_over_switchml", "world", "fidelity",
    "reasons", "setting", "code",
)  # fmt: skip
_ALLOWED = "another file, or one that this bench began with these arguments"
_BETWEEN = "; "
"""reasons of one run"""


class KeptRuns:
    """A file that is not there is made; the runs of one that is there are known. Raises ScenarioError when the file cannot be
    read or written, is of something else, or has runs of none of `places` or of other code. A last line without its end is of a run that was
    cut short with its writer, and is forgotten."""

    def __init__(self, path: Path, places: Collection[Place]) -> None:
        self._path = path
        self.known: dict[Point, Figures] = {}
        """Runs of points that nobody asks for now are here, too: they stay in the file."""
        settings = {place.setting(): place for place in places}
        whole = True
        try:
            if path.exists():
                text = path.read_text(encoding="utf-8")
                lines = text.splitlines(keepends=True)
                whole = not lines or lines[-1].endswith("\n")
                self._read(lines if whole else lines[:-1], settings)
            if not self.known or not whole:
                self._write(self.known)
            self._file = path.open("a", encoding="utf-8", newline="")
        except (OSError, UnicodeDecodeError) as error:
            raise self._refused(error) from error

    def add(self, point: Point, figures: Figures) -> None:
        """A line that is on the disk when this returns. Gains are left out: their peers may not be there yet."""
        self.known[point] = figures
        try:
            csv.writer(self._file, lineterminator="\n").writerow(_row(point, figures, ("", "")))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._refused(error) from error

    def finish(self, order: Iterable[Point]) -> None:
        """Once more all lines: in this order, others behind them, with gains. The file is there at any time, old or new."""
        first = {point: self.known[point] for point in order}
        try:
            self._file.close()
            self._write(first | self.known)
        except OSError as error:
            raise self._refused(error) from error

    def close(self) -> None:
        self._file.close()

    def _write(self, found: Mapping[Point, Figures]) -> None:
        jcts = {_peer_key(p, p.subject.name): figures.average_jct_s for p, figures in found.items()}
        fresh = self._path.with_name(self._path.name + ".new")
        if self._path.is_dir():
            raise IsADirectoryError(21, "Is a directory")
        with fresh.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            for p, figures in found.items():
                peers = [jcts.get(_peer_key(p, peer.name)) for peer in (ATP, SWITCHML)]
                gains = ["" if peer is None else f"{peer / figures.average_jct_s:.4f}" for peer in peers]
                writer.writerow(_row(p, figures, gains))
        fresh.replace(self._path)

    def _read(self, lines: Sequence[str], settings: Mapping[str, Place]) -> None:
        rows = csv.reader(lines)
        head = next(rows, None)
        if head is not None and head != list(COLUMNS):
            raise ScenarioError(
                "not a file of tb bench ina", file=str(self._path), line=1, key="--csv", allowed=_ALLOWED
            )
        for row in rows:
            try:
                if len(row) != len(COLUMNS):
                    raise ValueError(f"{len(row)} columns")
                cells = dict(zip(COLUMNS, row, strict=True))
                if cells["code"] != code_version():
                    raise ScenarioError(
                        "a run of another version of the programs", file=str(self._path), line=rows.line_num, key="--csv",
                        found=cells["code"], allowed=f"a new file, or runs of {code_version()}, which is this one",
                    )  # fmt: skip
                place = settings[cells["setting"]]
                point, figures = _parsed(cells, place)
            except KeyError as error:
                raise ScenarioError(
                    "a run of another grid", file=str(self._path), line=rows.line_num, key="--csv",
                    found=str(error.args[0]), allowed=_ALLOWED,
                ) from error  # fmt: skip
            except ValueError as error:
                raise ScenarioError(
                    "no run of tb bench ina", file=str(self._path), line=rows.line_num, key="--csv", found=str(error),
                    allowed=_ALLOWED,
                ) from error  # fmt: skip
            self.known[point] = figures

    def _refused(self, error: OSError | UnicodeDecodeError) -> ScenarioError:
        why = (error.strerror or str(error)) if isinstance(error, OSError) else "no text"
        return ScenarioError(f"cannot be written: {why}", file=str(self._path), key="--csv")


def _peer_key(point: Point, subject: str) -> tuple[object, ...]:
    return point.place, point.mix, point.memory, point.seed, point.repeat, subject


def _row(p: Point, figures: Figures, gains: Sequence[str]) -> list[object]:
    return [
        p.mix, p.subject.name, p.memory, f"{p.memory / p.place.windows(MIXES[p.mix]):.4f}", p.indices(), p.seed, p.repeat,
        figures.average_jct_s, figures.p95_jct_s, figures.busy, figures.useful, figures.collisions, figures.evictions,
        figures.resends, figures.server_bytes, *gains, p.place.world, figures.fidelity, " ".join(_BETWEEN.join(figures.reasons).split()),
        p.place.setting(), code_version(),
    ]  # fmt: skip


def _parsed(cells: Mapping[str, str], place: Place) -> tuple[Point, Figures]:
    """Raises KeyError with what is of no grid, ValueError for what is no number."""
    subject = {subject.name: subject for subject in SUBJECTS}[cells["protocol"]]
    mix = MIXES[cells["mix"]].name
    point = Point(place, mix, subject, int(cells["memory"]), int(cells["seed"]), int(cells["repeat"]))
    numbers = [float(cells[name]) for name in ("average_jct_s", "p95_jct_s", "busy", "useful")]
    counts = [int(cells[name]) for name in ("collisions", "evictions", "resends", "server_bytes")]
    reasons = tuple(cells["reasons"].split(_BETWEEN)) if cells["reasons"] else ()
    return point, Figures(
        numbers[0],
        numbers[1],
        numbers[2],
        numbers[3],
        counts[0],
        counts[1],
        counts[2],
        counts[3],
        cells["fidelity"],
        reasons,
    )
