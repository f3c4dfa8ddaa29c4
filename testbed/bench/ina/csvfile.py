"""The runs of a grid as a CSV file that grows run by run, and from which an interrupted grid goes on."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from testbed.bench.ina.place import Place, Point
from testbed.bench.ina.runs import Figures
from testbed.bench.ina.subjects import ATP, MIXES, SUBJECTS, SWITCHML
from testbed.history.verdict import Verdict
from testbed.runs.codeversion import code_version
from workloads.errors import ScenarioError
from workloads.trusted import require_trusted

__all__ = ["COLUMNS", "KeptRuns"]

COLUMNS = (
    "mix", "protocol", "memory", "memory_per_sw", "slots", "seed", "repeat", "average_jct_s", "p95_jct_s", "busy",
    "useful",
    "collisions", "evictions", "resends", "server_bytes", "gain_over_atp", "gain_over_switchml", "world", "fidelity",
    "reasons", "dilation", "deviation", "setting", "code",
)  # fmt: skip
_HEADER = ",".join(COLUMNS) + "\n"
_ALLOWED = "another file, or one that this bench began with these arguments"
_FIDELITIES = [verdict.value for verdict in (Verdict.PASS, Verdict.UNKNOWN)]
_BETWEEN = "; "
"""reasons of one run"""


class KeptRuns:
    """A file that is not there is made; the runs of one that is there are known. Raises ScenarioError when the file
    cannot be read or written, is of something else, or has runs of none of `places` or of other code. A last line
    without its end is of a run that was cut short with its writer, and is forgotten."""

    def __init__(self, path: Path, places: Collection[Place]) -> None:
        self._named, self._path = path, path.resolve()
        self.known: dict[Point, Figures] = {}
        """Runs of points that are not requested now are here, too: they stay in the file."""
        settings = {place.setting(): place for place in places}
        whole = True
        require_trusted(path)
        try:
            if self._path.exists():
                if not self._path.is_file() and not self._path.is_dir():
                    raise self._foreign(None, "is a device or a pipe, which keeps no runs")
                lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True)
                whole = not lines or lines[-1].endswith("\n")
                if lines and not _HEADER.startswith(lines[0]):
                    raise self._foreign(1, "not a file of tb bench ina")
                self._read(lines if whole else lines[:-1], settings)
            if not self.known or not whole:
                self._write(self.known)
            self._file = self._path.open("a", encoding="utf-8", newline="")
        except UnicodeDecodeError as error:
            raise self._foreign(1, "not a file of tb bench ina", "no text") from error
        except OSError as error:
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
        """Write all lines again: those of this order, others behind them, with gains. The file is there at any time,
        old or new."""
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
        fresh = self._path.with_name(f".ina-{os.getpid()}.new")
        with fresh.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            for p, figures in found.items():
                peers = [jcts.get(_peer_key(p, peer.name)) for peer in (ATP, SWITCHML)]
                gains = ["" if peer is None else f"{peer / figures.average_jct_s:.4f}" for peer in peers]
                writer.writerow(_row(p, figures, gains))
        fresh.replace(self._path)

    def _read(self, lines: Sequence[str], settings: Mapping[str, Place]) -> None:
        rows = csv.reader(lines[1:])
        while True:
            try:
                row = next(rows, None)
                if row is None:
                    return
                if len(row) != len(COLUMNS):
                    raise ValueError(f"{len(row)} columns")
                cells = dict(zip(COLUMNS, row, strict=True))
                if cells["code"] != code_version():
                    raise self._foreign(
                        1 + rows.line_num, "a run of another version of the programs", cells["code"],
                        f"a new file, or runs of {code_version()}, which is this one",
                    )  # fmt: skip
                place = settings[cells["setting"]]
                point, figures = _parsed(cells, place)
            except KeyError as error:
                raise self._foreign(1 + rows.line_num, "a run of another grid", str(error.args[0])) from error
            except (ValueError, csv.Error) as error:
                raise self._foreign(1 + rows.line_num, "no run of tb bench ina", str(error)) from error
            self.known[point] = figures

    def _foreign(
        self, line: int | None, problem: str, found: str | None = None, allowed: str = _ALLOWED
    ) -> ScenarioError:
        return ScenarioError(problem, file=str(self._named), line=line, key="--csv", found=found, allowed=allowed)

    def _refused(self, error: OSError) -> ScenarioError:
        return ScenarioError(f"cannot be written: {error.strerror or error}", file=str(self._named), key="--csv")


def _peer_key(point: Point, subject: str) -> tuple[object, ...]:
    return point.place, point.mix, point.memory, point.seed, point.repeat, subject


def _row(p: Point, figures: Figures, gains: Sequence[str]) -> list[object]:
    return [
        p.mix, p.subject.name, p.memory, f"{p.memory / p.place.windows(MIXES[p.mix]):.4f}", p.indices(), p.seed,
        p.repeat,
        figures.average_jct_s, figures.p95_jct_s, figures.busy, figures.useful, figures.collisions, figures.evictions,
        figures.resends, figures.server_bytes, *gains, p.place.world, figures.fidelity,
        " ".join(_BETWEEN.join(figures.reasons).split()),
        figures.dilation, "" if figures.deviation is None else figures.deviation,
        p.place.setting(), code_version(),
    ]  # fmt: skip


def _parsed(cells: Mapping[str, str], place: Place) -> tuple[Point, Figures]:
    """Raises KeyError with what is of no grid, ValueError for what no run can have."""
    subject = {subject.name: subject for subject in SUBJECTS}[cells["protocol"]]
    mix = MIXES[cells["mix"]].name
    if cells["world"] != place.world:
        raise KeyError(f"world {cells['world']} with a setting of world {place.world}")
    memory, seed, repeat = (_counted(cells, name, 1) for name in ("memory", "seed", "repeat"))
    average_s, p95_s = (_measured(cells, name, math.inf) for name in ("average_jct_s", "p95_jct_s"))
    busy, useful = (_measured(cells, name, 1.0) for name in ("busy", "useful"))
    collisions, evictions, resends, server_bytes = (
        _counted(cells, name, 0) for name in ("collisions", "evictions", "resends", "server_bytes")
    )
    if average_s == 0:
        raise ValueError("average_jct_s 0")
    if cells["fidelity"] not in _FIDELITIES:
        raise ValueError(f"fidelity {cells['fidelity']}")
    reasons = tuple(cells["reasons"].split(_BETWEEN)) if cells["reasons"] else ()
    figures = Figures(
        average_s,
        p95_s,
        busy,
        useful,
        collisions,
        evictions,
        resends,
        server_bytes,
        cells["fidelity"],
        reasons,
        _counted(cells, "dilation", 1),
        _deviation(cells["deviation"]),
    )
    return Point(place, mix, subject, memory, seed, repeat), figures


def _deviation(text: str) -> float | None:
    """Above -1, or nothing."""
    if not text:
        return None
    number = float(text)
    if not -1 < number < math.inf:
        raise ValueError(f"deviation {text}")
    return number


def _counted(cells: Mapping[str, str], name: str, least: int) -> int:
    if not cells[name].isascii() or not cells[name].isdigit() or int(cells[name]) < least:
        raise ValueError(f"{name} {cells[name]}")
    return int(cells[name])


def _measured(cells: Mapping[str, str], name: str, most: float) -> float:
    number = float(cells[name])
    if not 0 <= number <= most or number == math.inf:
        raise ValueError(f"{name} {cells[name]}")
    return number
