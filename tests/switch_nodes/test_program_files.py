"""Is the class there? Nothing of the file is run to know."""

from __future__ import annotations

from pathlib import Path

import pytest

from switch_nodes.program_files import look_for_program
from workloads.errors import ScenarioError


@pytest.mark.parametrize(
    "text",
    [
        "class A: pass",
        "from elsewhere import B as A",
        "A = make()",
        "try:\n    from fast import A\nexcept ImportError:\n    A = None",
        "from switch_nodes.forwarding import *",
        "if True:\n    class A: pass",
    ],
)
def test_whatever_binds_the_name_will_do(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(f"{text}\nraise SystemExit('nobody runs this')\n", encoding="utf-8")
    look_for_program(f"{path}:A")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("class B: pass\ndef c():\n    A = 1\n", "has no such class; found 'A'; allowed: B"),
        ("", "has no such class; found 'A'; allowed: a class of that file, which has none"),
        ("class A\n", "cannot be loaded: SyntaxError: expected ':' (mine.py, line 1)"),
    ],
)
def test_what_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        look_for_program("mine.py:A")
    assert str(caught.value) == f"scenario: switch.program: the program file mine.py {told}"


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(ScenarioError) as caught:
        look_for_program("/no/such.py:A")
    assert str(caught.value) == (
        "scenario: switch.program: no such program file; found '/no/such.py'; allowed: a .py file"
    )
