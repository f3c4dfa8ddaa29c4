"""Parts of installed packages: which are found, and which errors name a package that nothing can use."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from switch_nodes import kinds
from testbed.plan.contract import planned_protocol
from testbed.scenario.protocols import known, named
from testbed.scenario.protocols.own_code import is_in_file, is_own_code
from tests.support.packages import install, metadata
from workloads import plugins
from workloads.errors import ScenarioError
from workloads.plugins import PROGRAMS, PROTOCOLS

CACHES = plugins.plugins, named.protocol_names, known._named, kinds.program_kinds


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder from which packages are imported."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    for each in CACHES:
        each.cache_clear()
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
    monkeypatch.undo()
    importlib.invalidate_caches()
    for each in CACHES:
        each.cache_clear()


def add(site: Path, target: str, *, name: str = "thirds", group: str = PROTOCOLS, package: str = "ina-thirds") -> None:
    metadata(site, package, {group: {name: target}})


def test_a_package_adds_a_protocol_and_a_program(site: Path) -> None:
    install(site, "thirds")
    for each in CACHES:
        each.cache_clear()
    assert "thirds" in named.protocol_names()
    assert "thirds" in known.programs
    assert inspect.unwrap(planned_protocol("thirds").plan).__module__ == "thirds"
    assert known.summaries["thirds"].endswith("(package ina-testbed-thirds 0.1)")
    assert is_own_code("thirds")
    assert not is_in_file("thirds")
    assert not is_own_code("switchml")
    assert plugins.is_of_plugin("thirds.worker")
    assert not plugins.is_of_plugin("thirdsome")


def test_its_files_are_known_without_running_them(site: Path) -> None:
    (site / "thirds").mkdir()
    (site / "thirds" / "__init__.py").write_text("raise SystemExit(0)\n", encoding="utf-8")
    add(site, "thirds:PROTOCOL")
    plugin = plugins.plugins(PROTOCOLS)["thirds"]
    assert plugin.sources() == [site / "thirds" / "__init__.py"]
    assert plugin.owns(str(site / "thirds" / "worker.py"))
    assert not plugin.owns(str(site / "thirds.py"))
    with pytest.raises(
        ScenarioError, match=r"installed package ina-thirds 0.1: thirds: thirds:PROTOCOL cannot be imported"
    ):
        plugin.load()


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        ("1 / 0", "thirds", "cannot be imported: ZeroDivisionError: division by zero"),
        ("import os", "thirds", "cannot be imported: AttributeError: module 'thirds' has no attribute 'PROTOCOL'"),
        ("PROTOCOL = 3", "thirds", "is no protocol; found 3; allowed: a testbed.protocols.Protocol"),
        ("from testbed.protocols.ring import PROTOCOL", "thirds",
         "calls itself 'ring'; allowed: the name of its entry point, 'thirds'"),
        ("", "ring", "has the name of a built-in protocol; found 'ring'"),
        ("", "Thirds", "has a name that no scenario can hold; found 'Thirds'; allowed: small letters, digits and _"),
    ],
    ids=["fails", "lacks", "other", "name", "ours", "capital"],
)  # fmt: skip
@pytest.mark.protocols("ring")
def test_what_is_no_protocol_names_the_package(site: Path, text: str, name: str, told: str) -> None:
    (site / "thirds.py").write_text(text + "\n", encoding="utf-8")
    add(site, "thirds:PROTOCOL", name=name)
    with pytest.raises(ScenarioError) as caught:
        [known.protocol_of(each) for each in named.protocol_names()]
    assert told in str(caught.value)
    assert str(caught.value).startswith("installed package ina-thirds 0.1: ")
    assert "mend the package, or uninstall it" in str(caught.value)


def test_an_entry_point_without_an_attribute_is_refused(site: Path) -> None:
    add(site, "thirds")
    with pytest.raises(ScenarioError, match="found 'thirds'; allowed: module:NAME"):
        named.protocol_names()


def test_two_packages_cannot_have_one_name(site: Path) -> None:
    add(site, "one:PROTOCOL", package="one")
    add(site, "two:PROTOCOL", package="two")
    with pytest.raises(
        ScenarioError, match=r"two 0.1.*has the name of one of one 0.1|one 0.1.*has the name of one of two 0.1"
    ):
        named.protocol_names()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("KIND = 1", "is no kind of switch program; found 1; allowed: a switch_nodes.kinds.ProgramKind"),
        ("from switch_nodes.kinds import ProgramKind\nKIND = ProgramKind('other', 'x', lambda: 1)",
         "calls itself 'other'"),
        ("from switch_nodes.kinds import ProgramKind\nKIND = ProgramKind('thirds', 'x', lambda: 1)",
         "loads no class (load); found 1"),
        ("from switch_nodes.kinds import ProgramKind\nclass X: pass\nKIND = ProgramKind('thirds', 'x', lambda: X)",
         "names a class that is no switch program: it lacks receive_frame"),
        ("from switch_nodes.kinds import ProgramKind\nKIND = ProgramKind('thirds', 'x', 'thirds:X')",
         "cannot be loaded: TypeError: 'str' object is not callable"),
    ],
    ids=["other", "name", "no class", "no program", "old text"],
)  # fmt: skip
def test_what_is_no_program_names_the_package(site: Path, text: str, told: str) -> None:
    from switch_nodes.registry import _factory

    (site / "thirds.py").write_text(text + "\n", encoding="utf-8")
    add(site, "thirds:KIND", group=PROGRAMS)
    with pytest.raises(ScenarioError) as caught:
        _factory("thirds")
    assert told in str(caught.value)
