"""A copy of the tree without one protocol: `python -m tests.support.without NAME --out FOLDER`.

It leaves out the protocol's folders, document and tests, and the scenarios and sweeps that name it; it edits nothing.
One file lists what is missing (`tests/left_out.json`), so that tests skip what they would do with it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
from collections.abc import Set
from pathlib import Path

import yaml

from testbed.protocols import names
from tests.support.floors import ROOT
from tests.support.left_out import PLACE, meant_by

__all__ = ["copy_without", "parts_of", "runs_it", "sweeps_one_of"]

_SCENARIOS, _SWEEPS = "playbooks/scenarios/", "playbooks/sweeps/"
_PLAYBOOKS = (_SCENARIOS, _SWEEPS)


def parts_of(name: str) -> tuple[str, ...]:
    """Folders (with a slash at the end), files and begins of file names that belong to the protocol alone."""
    folders = ("switch_nodes", "workloads", "testbed/protocols", "playbooks/scenarios")
    tests = ("tests/switch_nodes", "tests/workloads", "tests/testbed/protocols", "tests/testbed/scenario/errors")
    return (
        *(f"{folder}/{name}/" for folder in (*folders, *tests)),
        f"docs/{name}.md",
        f"tests/support/{name}_",
        f"tests/data/histories/{name}.json",
    )


def runs_it(path: Path, name: str) -> bool:
    """Whether it is a scenario or a sweep, and names the protocol, or a program of that name, as what runs."""
    if path.suffix != ".yaml" or not path.relative_to(ROOT).as_posix().startswith(_PLAYBOOKS):
        return False
    return meant_by(path.read_text(encoding="utf-8"), name)


def sweeps_one_of(path: Path, scenarios: Set[str]) -> bool:
    """Whether it is a sweep over one of these built-in scenarios."""
    if path.suffix != ".yaml" or not path.relative_to(ROOT).as_posix().startswith(_SWEEPS):
        return False
    return not scenarios.isdisjoint(yaml.safe_load(path.read_text(encoding="utf-8")).get("scenarios", ()))


def copy_without(name: str, out: Path) -> list[str]:
    """Files that were left out. Raises ValueError for an unknown name, FileExistsError where `out` is not empty."""
    if name not in names():
        raise ValueError(f"no such protocol: {name!r}; there are {', '.join(names())}")
    if out.exists() and any(out.iterdir()):
        raise FileExistsError(f"{out} is not empty")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    files = [file for file in filter(None, listed.split("\0")) if (ROOT / file).is_file()]
    left_out = [file for file in files if file.startswith(parts_of(name)) or runs_it(ROOT / file, name)]
    gone = {Path(file).stem for file in left_out if file.startswith(_SCENARIOS)}
    left_out += [file for file in files if file not in left_out and sweeps_one_of(ROOT / file, gone)]
    for file in files:
        if file in left_out:
            continue
        (out / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, out / file)
    scenarios = [Path(file).stem for file in left_out if file.startswith(_PLAYBOOKS)]
    (out / PLACE).write_text(json.dumps(sorted({name, *scenarios})), encoding="utf-8")
    return left_out


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.without")
    parser.add_argument("name", choices=names())
    parser.add_argument("--out", type=Path, required=True, help="a folder that does not exist yet")
    args = parser.parse_args()
    left_out = copy_without(args.name, args.out)
    print(f"{args.out}: the tree without {len(left_out)} files of {args.name}")


if __name__ == "__main__":
    main()
