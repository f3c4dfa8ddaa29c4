"""From experiments to the bytes of an archive: the same experiments make the same bytes."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from testbed import __version__
from testbed.bundle import repeat
from testbed.bundle.cleaned import clean_document, clean_text
from testbed.bundle.intervals import ALLOWANCE, intervals
from testbed.bundle.model import Experiment, PackedRun
from testbed.comparison.figures import flat_figures

__all__ = ["TOP", "archive"]

TOP = "artifact"
"""the one folder of an archive"""
_TEXTS = (".csv", ".svg", ".pgf", ".py")
_WHEN = (1980, 1, 1, 0, 0, 0)
_PLAIN, _EXECUTABLE = 0o100644, 0o100755


def archive(experiments: Sequence[Experiment], machine: Mapping[str, Any] | None = None) -> bytes:
    """A zip file. `machine`: what it says of the machine that made it; None: nothing."""
    files: dict[str, bytes] = {
        "README.md": _readme(experiments).encode(),
        "repeat.py": Path(repeat.__file__).read_bytes(),
        "manifest.json": _json(_manifest(experiments, machine)),
        "figures.csv": _figures(experiments).encode(),
    }
    for experiment in experiments:
        for name, content in experiment.files.items():
            files[f"{experiment.name}/{name}"] = _cleaned(name, content, machine is not None)
        for run in experiment.runs:
            folder = f"{experiment.name}/{run.name}".rstrip("/")
            files[f"{folder}/scenario.yaml"] = run.scenario
            files[f"{folder}/result.json"] = _json(clean_document(run.document, machine=machine is not None))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{TOP}/{name}", _WHEN)
            entry.external_attr = (_EXECUTABLE if name.endswith("repeat.py") else _PLAIN) << 16
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3  # Unix: modes count
            file.writestr(entry, files[name], compresslevel=9)
    return packed.getvalue()


def _manifest(experiments: Sequence[Experiment], machine: Mapping[str, Any] | None) -> dict[str, Any]:
    environments = [run.document["environment"] for experiment in experiments for run in experiment.runs]
    names = ("version", "source", "python", "numpy", "code", "event_loop")
    found = {name: sorted({str(each[name]) for each in environments if name in each}) for name in names}
    return {
        "schema": 1,
        "made_by": f"ina-testbed {__version__}",
        "versions": found,
        "machine": machine,
        "experiments": [
            {
                "name": experiment.name,
                "kind": experiment.kind,
                "figures": list(experiment.figures),
                "runs": [_run(run) for run in experiment.runs],
                "intervals": [
                    {**group, "runs": [name or "." for name in group["runs"]]} for group in intervals(experiment)
                ],
                "without_result": [clean_document(asdict(each)) for each in experiment.left_out],
            }
            for experiment in experiments
        ],
    }


def _run(run: PackedRun) -> dict[str, Any]:
    found = {name: run.document[name] for name in ("scenario", "world", "seed", "verdict")}
    return {"folder": run.name or ".", **found, "labels": clean_document(run.labels)}


def _figures(experiments: Iterable[Experiment]) -> str:
    """A row for each figure of each run."""
    text, of_run = io.StringIO(), ("scenario", "world", "seed", "verdict")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("experiment", "run", *of_run, "figure", "value"))
    for experiment in experiments:
        for run in experiment.runs:
            start = experiment.name, run.name, *(run.document[name] for name in of_run)
            for name, value in flat_figures(run.document).items():
                writer.writerow((*start, name, "" if value is None else value))
    return text.getvalue()


def _cleaned(name: str, content: bytes, machine: bool) -> bytes:
    if name.endswith(".json"):
        return _json(clean_document(json.loads(content), machine=machine))
    return clean_text(content.decode("utf-8", "replace")).encode() if name.endswith(_TEXTS) else content


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def _readme(experiments: Sequence[Experiment]) -> str:
    runs = sum(len(experiment.runs) for experiment in experiments)
    rows = "\n".join(f"| `{each.name}/` | {each.kind} | {len(each.runs)} |" for each in experiments)
    return f"""# Experiments with ina-testbed

To repeat all {runs} runs with a checkout of ina-testbed and compare every figure:

    python3 repeat.py CHECKOUT

Exit code 0: all is as in this archive. 1: a figure or a verdict differs. 2: a run could not be made.

In virtual time (world `simulated`), all figures must be equal. The emulated world needs root. There, the median of each
figure must be within its interval: the confidence interval over the seeds, widened by {ALLOWANCE:.0%}.

| folder | kind | runs |
|---|---|---|
{rows}

`manifest.json` lists runs, seeds, versions and intervals; `figures.csv` has all figures of all runs. Each run has its
`scenario.yaml` and `result.json`. Sweeps also have their tables and plots.
"""
