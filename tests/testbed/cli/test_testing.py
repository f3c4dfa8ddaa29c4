"""What `tb test` runs, in which order."""

from __future__ import annotations

import configparser
from pathlib import Path

from testbed.cli import testing
from testbed.cli.testing import left_out, steps, steps_of_ci
from tests.support.costs import OWNING

TOP = Path(__file__).resolve().parents[3]


def _marks(step: list[str]) -> str:
    return step[step.index("-m") + 1]


def _owning() -> str:
    """Marks of tests that own the machine."""
    return _marks(steps_of_ci()[-1]).removeprefix("(minutes or long) and (").removesuffix(")")


def test_every_test_runs_once_and_those_that_own_the_machine_one_after_the_other():
    *linters, shared, alone = steps([])
    shared_later, alone_later = steps_of_ci()
    assert [step[0] for step in linters] == ["ruff", "ruff", "codespell_lib", "mypy"]
    assert _marks(alone) == f"not (minutes or long) and ({_owning()})"
    assert _marks(shared) == f"not (minutes or long) and not ({_owning()})"
    assert _marks(shared_later) == f"(minutes or long) and not ({_owning()})"
    for step in (shared, shared_later):
        assert "-n" in step
    for step in (alone, alone_later):
        assert "-n" not in step


def test_the_marks_are_those_that_tests_have():
    """A mark that is misspelt here would let such tests share the machine."""
    setup = configparser.ConfigParser()
    setup.read(TOP / "setup.cfg")
    known = {line.partition(":")[0] for line in setup["tool:pytest"]["markers"].strip().splitlines()}
    assert set(_owning().split(" or ")) == known - {"programs", "minutes", "long", "quick"}
    assert tuple(_owning().split(" or ")) == OWNING


def test_arguments_go_to_one_pytest_as_they_are():
    assert steps(["-k", "requester", "-x"])[4:] == [["pytest", "-k", "requester", "-x"]]


def test_what_cannot_be_tested_without_torch_is_told(monkeypatch):
    monkeypatch.setattr(testing.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("TB_NO_TORCH", "1")
    told = "the backend of torch.distributed: PyTorch is not installed"
    assert left_out() == [f"{told} (TB_NO_TORCH is set)"]
    monkeypatch.delenv("TB_NO_TORCH")
    assert left_out() == [f"{told} (./tb said why when it began)"]
    monkeypatch.setattr(testing.importlib.util, "find_spec", lambda name: name)
    assert left_out() == []
