#!/usr/bin/env python3
"""Repeat the runs of this archive with a checkout of ina-testbed, and compare verdicts and figures.

    python3 repeat.py [CHECKOUT]

CHECKOUT is a folder with ina-testbed (default: the current folder). In virtual time, every figure must be equal. In the
emulated world, which needs root, the median of each figure must be within the interval that manifest.json gives.

Exit code 0: all is as in the archive. 1: a figure or a verdict differs. 2: a run could not be made.

This script needs Python 3.9 or later and nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MOST_LINES = 20


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="repeat the runs of this archive, and compare them")
    parser.add_argument("checkout", nargs="?", default=".", type=Path, help="folder with ina-testbed (default: .)")
    parser.add_argument("--python", help="interpreter that has all packages (default: CHECKOUT/tb sets one up)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="simulated runs at a time")
    args = parser.parse_args(words)
    checkout = args.checkout.resolve()
    if not (checkout / "tb").is_file() or not (checkout / "testbed").is_dir():
        print(f"{args.checkout} is no checkout of ina-testbed: it has no tb and no testbed/", file=sys.stderr)
        return 2
    tb = [args.python, "-P", "-m", "testbed"] if args.python else [str(checkout / "tb")]
    differ = lack = runs = 0
    for experiment in json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))["experiments"]:
        found = repeat(experiment, tb, checkout, max(1, args.jobs))
        for name, lines in compare(experiment, found):
            runs += 1
            differ += lines is not None and bool(lines)
            lack += lines is None
            word = "could not run" if lines is None else "DIFFERS" if lines else "as in the archive"
            print(f"{name}: {word}")
            for line in (lines or [])[:MOST_LINES]:
                print(f"    {line}")
            if len(lines or []) > MOST_LINES:
                print(f"    and {len(lines or []) - MOST_LINES} more")
    print(f"{runs} compared: {runs - differ - lack} as in the archive, {differ} differ, {lack} could not run")
    return 1 if differ else 2 if lack or not runs else 0


def repeat(experiment: dict[str, Any], tb: list[str], checkout: Path, jobs: int) -> dict[str, dict[str, Any]]:
    """By folder: the new result.json; folders whose run could not be made are missing."""
    env = {**os.environ, "PYTHONPATH": str(checkout)}
    with tempfile.TemporaryDirectory(prefix="repeat-") as scratch:

        def once(place_and_run: tuple[int, dict[str, Any]]) -> tuple[str, dict[str, Any] | None]:
            place, run = place_and_run
            out = Path(scratch, str(place))
            scenario = HERE / experiment["name"] / run["folder"] / "scenario.yaml"
            limit = ["--real-limit", "none"] if run["world"] == "simulated" else []
            command = [*tb, "run", str(scenario), "--out", str(out), "--quiet", *limit]
            done = subprocess.run(command, cwd=scratch, env=env, capture_output=True, text=True, check=False)
            try:
                return run["folder"], json.loads((out / "result.json").read_text(encoding="utf-8"))
            except (OSError, ValueError):
                print(f"{shown(experiment, run['folder'])}: exit code {done.returncode}", file=sys.stderr)
                print((done.stderr or done.stdout).strip()[-2000:], file=sys.stderr)
                return run["folder"], None

        numbered = list(enumerate(experiment["runs"]))
        simulated = [item for item in numbered if item[1]["world"] == "simulated"]
        # The first one alone: it may have to set the checkout up. Runs in real time would slow each other down.
        results = [once(item) for item in numbered if item[1]["world"] != "simulated"]
        results += map(once, simulated[:1])
        with ThreadPoolExecutor(jobs) as pool:
            results += pool.map(once, simulated[1:])
    return {folder: document for folder, document in results if document is not None}


def compare(experiment: dict[str, Any], found: dict[str, dict[str, Any]]) -> Iterator[tuple[str, list[str] | None]]:
    """(name, what differs) of each run and of each group of emulated runs; None: it could not be made."""
    for run in experiment["runs"]:
        before = json.loads((HERE / experiment["name"] / run["folder"] / "result.json").read_text(encoding="utf-8"))
        now = found.get(run["folder"])
        if now is None:
            yield shown(experiment, run["folder"]), None
            continue
        lines = []
        if before["verdict"] != now["verdict"]:
            lines.append(f"verdict: {before['verdict']} in the archive, {now['verdict']} now")
        if run["world"] == "simulated":
            new = figures(now)
            lines += [
                f"{name}: {value} in the archive, {new.get(name, 'missing')} now"
                for name, value in figures(before).items()
                if name not in new or new[name] != value
            ]
        sources = before["environment"].get("source"), now["environment"].get("source")
        if lines and sources[0] != sources[1]:
            lines.append(f"(the archive is of source {sources[0]}, the checkout is source {sources[1]})")
        yield shown(experiment, run["folder"]), lines
    for group in experiment["intervals"]:
        documents = [found[folder] for folder in group["runs"] if folder in found]
        title = f"{shown(experiment, group['runs'][0])}, median of {len(group['runs'])} emulated"
        for figure, (low, high) in group["figures"].items():
            values = [figures(document).get(figure) for document in documents]
            known = [value for value in values if value is not None]
            if len(known) < len(group["runs"]):
                yield f"{title}, {figure}", None
                continue
            median = statistics.median(known)
            outside = [] if low <= median <= high else [f"{figure}: {median}, outside {low} to {high}"]
            yield f"{title}, {figure}", outside


def shown(experiment: dict[str, Any], folder: str) -> str:
    return f"{experiment['name']}/{folder}".rstrip("/.")


def figures(document: dict[str, Any]) -> dict[str, float | int | None]:
    """By dotted name, as ina-testbed names them."""
    found = dict(walk("", document["metrics"]))
    found.update({f"faults.{fault['name']}.strikes": fault["strikes"] for fault in document["faults"]})
    return found


def walk(prefix: str, value: Any) -> Iterator[tuple[str, float | int | None]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from walk(f"{prefix}.{key}" if prefix else str(key), item)
    elif isinstance(value, list):
        keys = ("name", "job", "number")
        for item in value:
            name = next((item[key] for key in keys if key in item), None) if isinstance(item, dict) else None
            if name is not None:
                yield from walk(f"{prefix}.{name}", {key: item[key] for key in item if key not in keys})
    elif value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        yield prefix, value


if __name__ == "__main__":
    sys.exit(main())
