"""Every key of every kind of scenario, removed or spoiled: validation succeeds, or a ScenarioError names the key and
what is allowed. Nothing else ever comes out, and nothing takes long.

Kinds of scenario come from the built-ins; keys that none of them holds come from the sections themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache, partial
from itertools import groupby
from random import Random
from typing import Any

import pytest

from testbed.estimate import memory_need
from testbed.plan import make_plan
from testbed.plan.time_need import time_need
from testbed.reading.problems import InvalidScenario
from testbed.reading.yamlfile import parse_yaml, read_text
from testbed.scenario import builtin_names, dump_scenario
from testbed.scenario.builtin import find_scenario
from testbed.scenario.loader import parse_scenario
from tests.support.spoiled import BAD, REMOVED, Path_, at, count_used, drawn, paths_of, spoiled
from workloads.visible import visible

_find = cache(find_scenario)


@cache
def _data(name: str) -> dict[str, Any]:
    path, shown = _find(name)
    found: dict[str, Any] = parse_yaml(read_text(path, shown), shown)[0]
    return found


def _unheld(name: str, path: Path_) -> list[str]:
    """Keys that this section may hold and does not."""
    changed = json.loads(json.dumps(_data(name)))
    section = at(changed, path)
    if not isinstance(section, dict):
        return []
    section["zz"] = 1
    problems = []
    try:
        _validate(name, json.dumps(changed))
    except InvalidScenario as error:
        problems = [each for each in error.problems if each.problem == "unknown key" and each.key.endswith("zz")]
    return [key for each in problems for key in (each.allowed or "").split(", ") if key not in section]


def _validate(name: str, text: str) -> None:
    scenario = parse_scenario(text, "spoiled.yaml", folder=_find(name)[0].parent)
    plan = make_plan(scenario)
    time_need(plan), memory_need(plan)
    written = dump_scenario(scenario)
    assert visible(written) == written


def _shape(name: str, path: Path_) -> tuple[object, ...]:
    """What makes a case another one than in the scenarios before."""
    data = _data(name)
    section = at(data, path[:2]) if len(path) > 1 and path[0] == "faults" else {}
    of = section.get("kind") if isinstance(section, dict) else None
    kinds = [data.get(key, {}).get(word) for key, word in (("job", "protocol"), ("topology", "kind"))]
    return (*(0 if isinstance(part, int) else part for part in path), *kinds, of)


def _cases(share: int, each: int) -> Iterator[tuple[str, Path_, str]]:
    """Of one of `share` keys, `each` of the bad values."""
    seen: set[tuple[object, ...]] = set()
    for name in builtin_names():
        held = list(paths_of(_data(name)))
        fresh = [path for path in held if _shape(name, path) not in seen]
        seen |= {_shape(name, path) for path in fresh}
        sections = [path for path in ((), *fresh) if isinstance(at(_data(name), path), dict) and drawn(name, path, 12)]
        for path in (*fresh, *((*section, key) for section in sections for key in _unheld(name, section))):
            if drawn(name, path, share):
                bad = (REMOVED, *BAD) if path in held else BAD
                yield from ((name, path, one) for one in Random(repr((name, path))).sample(bad, each))


def _check(share: int, each: int) -> int:
    """Cases of all built-ins, each read as the one that it was."""
    count = 0
    for name, cases in groupby(_cases(share, each), key=lambda case: case[0]):
        texts = ((case, spoiled(_data(name), *case[1:])) for case in cases)
        count += count_used(texts, partial(_validate, name))
    return count


def test_keys_removed_or_spoiled_are_named():
    assert _check(10, 1) > 200


@pytest.mark.minutes
def test_more_keys_removed_or_spoiled_are_named():
    assert _check(1, 1) > 2_000
