"""A protocol of the user's own: a value `Protocol` in a file of his, as `--set job.collective=path.py:NAME`. No
scenario file may name code: only a person does, on a command line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from testbed.reading.known import Section
from testbed.scenario.known import programs
from testbed.scenario.named import protocol_names
from testbed.scenario.names import DTYPES, FRAMINGS, PATH_MTUS, RECOVERIES
from testbed.scenario.overrides import SET_FILE
from testbed.scenario.own_code import guarded, load_own
from testbed.scenario.protocol import Protocol
from workloads.errors import ScenarioError
from workloads.ownvalues import Allowed, misfit, shown

__all__ = ["CHECKER", "COLLECTIVE_KEY", "load_protocol"]

COLLECTIVE_KEY = "job.collective"
_WHAT = "protocol"


def _is_checker(each: Any) -> bool:
    texts, functions = (each.name, each.proves), (each.check, each.skip)
    return (
        all(isinstance(text, str) and text.strip() for text in texts)
        and all(map(callable, functions))
        and type(each.of_run) is bool
    )


CHECKER = Allowed(
    "a Checker: name and proves are text that is not empty, check and skip are functions, of_run is True or False",
    _is_checker,
)


def load_protocol(name: str) -> Protocol:
    """Raises ScenarioError when the file is not there, cannot be loaded, or has no such protocol, and for a protocol
    that nobody could judge or keep."""
    path = Path(name.rpartition(":")[0])
    stamp = path.stat().st_mtime_ns if path.is_file() else 0
    return _loaded(name, str(path.resolve()), stamp)


@lru_cache(maxsize=64)
def _loaded(name: str, resolved: str, stamp: int) -> Protocol:
    """`resolved`, `stamp`: which file it is."""
    found: Protocol = load_own(
        name, _WHAT, lambda value: isinstance(value, Protocol), file=SET_FILE, key=COLLECTIVE_KEY
    )
    title = name.rpartition(":")[2]
    _require_definition(found, path=name.rpartition(":")[0], title=title)
    if found.like not in protocol_names():
        raise ScenarioError(
            f"protocol {title} does not say which collective of ours a kept scenario file names in its place (like)",
            file=SET_FILE, key=COLLECTIVE_KEY, found=repr(found.like), allowed=", ".join(protocol_names()),
        )  # fmt: skip
    if found.traits.approximate and not found.checkers:
        raise ScenarioError(
            f"the sums of protocol {title} are approximate, and no checker of its own judges them (checkers)",
            file=SET_FILE, key=COLLECTIVE_KEY, found="approximate=True", allowed="checkers=(Checker(...),)",
        )  # fmt: skip
    if found.order is None and not found.traits.approximate:
        raise ScenarioError(
            f"protocol {title} does not say in which order it adds (order), and its sums are not approximate",
            file=SET_FILE, key=COLLECTIVE_KEY, found="order=None", allowed="a function as in "
                                                                           "testbed/checkers/orders.py",
        )  # fmt: skip
    changes: dict[str, Any] = {
        field.name: guarded(value, name, _WHAT)
        for field in fields(found)
        if callable(value := getattr(found, field.name)) and not isinstance(value, type)
    }
    changes["checks"] = tuple(guarded(check, name, _WHAT) for check in found.checks)
    changes["checkers"] = tuple(
        replace(
            checker, check=guarded(checker.check, name, _WHAT), skip=guarded(checker.skip, name, _WHAT), own=True
        )
        for checker in found.checkers
    )  # fmt: skip
    if found.hunt is not None and found.hunt.draw_keys is not None:
        changes["hunt"] = replace(found.hunt, draw_keys=guarded(found.hunt.draw_keys, name, _WHAT))
    return replace(found, name=name, **changes)


def _require_definition(found: Protocol, path: str, title: str) -> None:
    """Raises ScenarioError for a field that holds what it may not."""
    wrong = misfit(found, Protocol)
    if wrong is None:
        wrong = next(
            (
                (field, value, allowed.words)
                for field, value, allowed in _definitions(found)
                if not allowed.holds(value)
            ),
            None,
        )
    if wrong is not None:
        field, value, words = wrong
        raise ScenarioError(
            "the protocol cannot have this", file=path, key=f"{title}.{field}", found=shown(value), allowed=words
        )


def _definitions(found: Protocol) -> Iterator[tuple[str, object, Allowed]]:
    """What the types of the fields do not say."""
    traits, hunt = found.traits, found.hunt
    yield "name", found.name, Allowed("text that is not empty", bool)
    yield "programs", found.programs, _words(tuple(programs))
    yield "traits.recoveries", traits.recoveries, _words(tuple(RECOVERIES))
    yield "traits.framings", traits.framings, _words(tuple(FRAMINGS))
    yield "traits.largest_mtu", traits.largest_mtu, Allowed(f"one of {PATH_MTUS}", lambda mtu: mtu in PATH_MTUS)
    yield "traits.told_share", traits.told_share, Allowed("a number from 0 to 1000", lambda share: 0 <= share <= 1000)
    is_section = Allowed("a Section that is a dataclass", lambda kind: issubclass(kind, Section) and is_dataclass(kind))
    if found.job_keys is not None:
        yield "job_keys", found.job_keys, is_section
    for at, checker in enumerate(found.checkers):
        yield f"checkers[{at}]", checker, CHECKER
    if hunt is None:
        return
    counts = Allowed("a whole number from 1", lambda count: count >= 1)
    for name in ("values_per_index", "frames_each_way", "vectors", "waits"):
        yield f"hunt.{name}", getattr(hunt, name), counts
    dtypes = Allowed("one weight from 1 at least", lambda weights: weights and min(weights.values()) >= 1)
    yield "hunt.dtypes", hunt.dtypes, dtypes
    yield "hunt.dtypes", tuple(hunt.dtypes), _words(tuple(DTYPES))
    for name in ("draw", "survival", "rules", "values", "smaller"):
        yield f"hunt.{name}", getattr(hunt, name), Allowed("module:function", _is_there)


def _words(known: tuple[str, ...]) -> Allowed:
    return Allowed(f"some of {', '.join(known)}", lambda words: words and set(words) <= set(known))


def _is_there(reference: str) -> bool:
    module, _, name = reference.partition(":")
    return hasattr(import_module(module), name)
