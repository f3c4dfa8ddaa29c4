"""From folders of runs and sweeps to experiments, each checked before anything is written."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from testbed.bundle.cleaned import clean_text, has_path
from testbed.bundle.model import Experiment, LeftOut, PackedRun
from testbed.runs.run import read_result
from testbed.scenario.protocols.own_code import is_own_code
from testbed.sweeps.model import SWEEP_NAME
from testbed.terminal.stream import shown_path
from testbed.terminal.words import amount
from workloads.errors import ScenarioError

__all__ = ["read_experiments"]

_SWEEPS = Path("runs") / "sweeps"
_OF_A_RUN = ("jct_s", "goodput_bps")
_TEXTS, _PICTURES = (".csv", ".svg", ".pgf", ".py"), (".pdf", ".png")
_MOST_SHOWN = 5
_POINT = re.compile("[0-9a-f]+")
_RESERVED = ("README.md", "repeat.py", "manifest.json", "figures.csv")
"""names of the archive's own files"""
_ALLOWED = "the folder of a finished run (runs/TIME-NAME-SEED), or of a sweep of scenarios (runs/sweeps/NAME), or NAME"


def read_experiments(sources: Sequence[Path], *, partial: bool = False) -> list[Experiment]:
    """In their order, with names of their own. `partial`: sweeps with points that were not computed, too. Raises
    ScenarioError."""
    found, taken, names = list[Experiment](), dict[Path, Path](), set(_RESERVED)
    for source in sources:
        folder = source if source.exists() or len(source.parts) > 1 else _SWEEPS / source
        if not folder.is_dir():
            problem = "is no folder" if os.path.lexists(folder) else "is not there"
            raise ScenarioError(problem, file=shown_path(source), allowed=_ALLOWED)
        if (real := folder.resolve()) in taken:
            raise ScenarioError(
                "is named twice",
                file=shown_path(source),
                found=f"also as {shown_path(taken[real])}",
                allowed="each once",
            )
        taken[real] = source
        experiment = _read(real, partial)
        free = next(name for name in _numbered(_plain(experiment.name)) if name not in names)
        names.add(free)
        found.append(replace(experiment, name=free))
    return found


def _plain(name: str) -> str:
    """A name of a folder that is safe in every archive."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip(".-") or "experiment"


def _numbered(name: str) -> Iterator[str]:
    yield name
    for number in range(2, 1 << 20):
        yield f"{name}-{number}"


def _read(folder: Path, partial: bool) -> Experiment:
    try:
        names = {entry.name for entry in os.scandir(folder)}
    except OSError as error:
        raise ScenarioError("cannot be read", file=shown_path(folder), found=error.strerror or str(error)) from error
    if {"result.json", "history.jsonl"} & names:  # without the first, the run did not end
        return Experiment(folder.name, "run", (_run(folder, ""),), _OF_A_RUN)
    if "results.json" in names:
        return _sweep(folder, names, partial)
    if "results.jsonl" in names or "points" in names:
        return _unfinished(folder, names, partial)
    raise ScenarioError("is neither a finished run nor a sweep", file=shown_path(folder), allowed=_ALLOWED)


def _run(folder: Path, name: str, labels: Mapping[str, Any] | None = None) -> PackedRun:
    if (folder / "result.json").exists():
        _content(folder / "result.json")
    document = read_result(folder)
    for key in ("program", "protocol"):
        if any(is_own_code(word) for word in str(document[key]).split(" + ")):
            raise ScenarioError(
                "ran with code of your own, which the archive cannot repeat", file=shown_path(folder), key=key,
                found=str(document[key]), allowed="runs of built-in switch programs and protocols",
            )  # fmt: skip
    if document["world"] == "lab":
        raise ScenarioError(
            "ran in a lab, which other machines cannot repeat", file=shown_path(folder), key="world", found="lab",
            allowed="simulated, emulated",
        )  # fmt: skip
    return PackedRun(name, _content(folder / "scenario.yaml"), document, dict(labels or {}))


def _sweep(folder: Path, names: Collection[str], partial: bool) -> Experiment:
    path = folder / "results.json"
    try:
        document = json.loads(_content(path))
        if document.get("kind") != "scenarios":
            raise ScenarioError("is a sweep of models: it has no runs", file=shown_path(folder), allowed=_ALLOWED)
        rows = [(row["labels"], row["seed"], row["status"], row["point"], row["reason"]) for row in document["results"]]
        figures = tuple(dict.fromkeys(name for group in document["summary"] for name in group["figures"]))
        name = str(document["sweep"])
        name = name if SWEEP_NAME.match(name) else folder.name
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ScenarioError("is not the result of a sweep", file=shown_path(path), found=str(error)) from error
    for _, _, status, point, _ in rows:
        if status == "done" and not _POINT.fullmatch(str(point)):
            raise ScenarioError(
                "not the name of a point", file=shown_path(path), key="results", found=str(point),
                allowed="hexadecimal digits",
            )  # fmt: skip
    left_out = tuple(
        LeftOut(labels, seed, status, clean_text(reason))
        for labels, seed, status, _, reason in rows
        if status != "done"
    )
    missing = [each for each in left_out if each.status != "invalid"]
    if missing and not partial:
        raise _incomplete(folder, missing, len(rows))
    runs = tuple(
        _run(folder / "points" / point, f"points/{point}", labels)
        for labels, _, status, point, _ in rows
        if status == "done"
    )
    files, hidden = _files(folder, names)
    return Experiment(name, "sweep", runs, figures, {**files, "results.json": _content(path)}, left_out, hidden)


def _incomplete(folder: Path, missing: Sequence[LeftOut], total: int) -> ScenarioError:
    shown = "; ".join(each.shown for each in missing[:_MOST_SHOWN])
    more = f"; and {len(missing) - _MOST_SHOWN} more" if len(missing) > _MOST_SHOWN else ""
    return ScenarioError(
        "is a sweep with points that were not computed", file=shown_path(folder),
        found=f"{len(missing)} of {amount(total, 'run')}: {shown}{more}",
        allowed="a sweep whose points all have a result; --partial packs those that have one",
        hint="the same `tb sweep` command computes what is missing",
    )  # fmt: skip


def _unfinished(folder: Path, names: Collection[str], partial: bool) -> Experiment:
    """A sweep that was stopped: what is varied is not known, but each point has its scenario."""
    points = folder / "points"
    found = sorted(path for path in points.iterdir() if (path / "result.json").exists()) if points.is_dir() else []
    if not partial or not found:
        raise ScenarioError(
            "is a sweep that did not end", file=shown_path(folder), found=f"{amount(len(found), 'finished run')}",
            allowed="a finished sweep; --partial packs finished runs, one or more",
            hint="the same `tb sweep` command goes on where it stopped",
        )  # fmt: skip
    files, hidden = _files(folder, names)
    runs = tuple(_run(path, f"points/{path.name}", {"point": path.name}) for path in found)
    return Experiment(folder.name, "sweep", runs, _OF_A_RUN, files, (), hidden)


def _files(folder: Path, names: Collection[str]) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """(tables and plots, pictures that may show a path and cannot be searched)"""
    texts = {name: _content(folder / name) for name in sorted(names) if name.endswith(_TEXTS)}
    pictures = [name for name in sorted(names) if name.endswith(_PICTURES)]
    tables = (text.decode("utf-8", "replace") for name, text in texts.items() if name.endswith(".csv"))
    if any(map(has_path, tables)):
        return texts, tuple(pictures)
    return texts | {name: _content(folder / name) for name in pictures}, ()


def _content(path: Path) -> bytes:
    """Of a plain file. Raises ScenarioError for a link, or another kind of file: what it leads to may be anything."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode):
            return path.read_bytes()
    except OSError as error:
        raise ScenarioError("cannot be read", file=shown_path(path), found=error.strerror or str(error)) from error
    found = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "another kind of file"
    raise ScenarioError("is no plain file", file=shown_path(path), found=found, allowed="a plain file")
