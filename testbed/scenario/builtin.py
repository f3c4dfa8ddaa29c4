"""Where scenarios are: built-ins by name (`NAME.yaml` in `playbooks/scenarios/` or a folder of it), all others by
path."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

from testbed.reading.problems import closest, show
from workloads.errors import ScenarioError

__all__ = ["builtin_names", "builtin_summaries", "find_scenario", "top_keys"]

_TOP = Path(str(files("playbooks"))).parent
_FOLDER = Path("playbooks") / "scenarios"


def builtin_names() -> tuple[str, ...]:
    """In alphabetical order."""
    return tuple(_places())


@cache
def _places() -> dict[str, Path]:
    """By name: the file, below the folder that holds `playbooks`."""
    found = {path.stem: path.relative_to(_TOP) for path in (_TOP / _FOLDER).rglob("*.yaml")}
    return dict(sorted(found.items()))


def builtin_summaries() -> Iterator[tuple[str, str, str]]:
    """(name, description, expected verdict) of each. Nothing of the files is checked: tests load them all."""
    for name, place in _places().items():
        keys = top_keys(_TOP / place)
        yield name, keys.get("description", ""), keys.get("expect", "pass")


def top_keys(path: Path) -> dict[str, str]:
    """The words at the top of a YAML file of ours."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # without libyaml it takes ten times as long
    data = yaml.load(path.read_text(encoding="utf-8"), loader)
    return {key: value for key, value in data.items() if isinstance(value, str)}


def find_scenario(name_or_path: str) -> tuple[Path, str]:
    """(file, how messages call it). Raises ScenarioError when it is neither a built-in's name nor a path."""
    if relative := _places().get(name_or_path):
        return _TOP / relative, relative.as_posix()
    looks_like_path = "/" in name_or_path or name_or_path.endswith((".yaml", ".yml"))
    if looks_like_path or os.path.exists(name_or_path):
        return Path(name_or_path), name_or_path
    raise ScenarioError(
        "no such scenario",
        found=show(name_or_path),
        allowed="a file (*.yaml), or a name from `tb list scenarios`",
        hint=closest(name_or_path, builtin_names()),
    )
