"""One bad sweep per mistake, with the exact text that a person gets. After a deliberate change of the texts:

UPDATE_GOLDEN=1 ./tb test tests/testbed/sweeps/test_errors.py    and read the diff
"""

import os
from pathlib import Path

import pytest

from testbed.cli import main
from testbed.sweeps import load_sweep
from workloads.errors import ScenarioError

_FOLDER = Path(__file__).parent / "errors"
_NAMES = sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def test_every_file_has_its_text():
    assert len(_NAMES) >= 20
    assert {path.stem for path in _FOLDER.glob("*.txt")} == set(_NAMES)


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.protocols("ring")
def test_the_text_is_as_agreed(name, monkeypatch):
    monkeypatch.chdir(_FOLDER)
    with pytest.raises(ScenarioError) as caught:
        load_sweep(f"{name}.yaml")
    golden = _FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(f"{caught.value}\n", encoding="utf-8")
    assert f"{caught.value}\n" == golden.read_text(encoding="utf-8")


def test_a_name_that_is_too_long_for_a_file_names_no_scenario(tmp_path):
    for name in ("9" * 300, "a/" * 3000, f"{'b' * 256}.yaml"):
        (tmp_path / "long.yaml").write_text(f"name: a\nscenarios: ['{name}']\nseeds: 2\n", encoding="utf-8")
        with pytest.raises(ScenarioError) as caught:
            load_sweep(str(tmp_path / "long.yaml"))
        assert "no such scenario" in str(caught.value)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["netreduce-scael"],
            (
                "tb sweep: no such sweep or scenario; found 'netreduce-scael'; allowed: a file (*.yaml), or a name "
                "from "
                "`tb list sweeps` or `tb list scenarios`; did you mean 'netreduce-scale'?\n"
            ),
        ),
        (["absent.yaml"], "tb: absent.yaml: no such file\n"),
        (
            ["netreduce-scale", "--model", "guess"],
            "tb: --model: model: unknown model; found 'guess'; allowed: formula, flow, message, packet\n",
        ),
    ],
)
def test_the_command_ends_with_64(words, text, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", *words]) == 64
    assert capsys.readouterr().err == text
    assert not (tmp_path / "runs").exists()


def test_a_number_of_jobs_is_one(capsys):
    assert main(["sweep", "netreduce-scale", "--jobs", "none"]) == 64
    assert "found 'none'; allowed: a whole number from 1 to 1024" in capsys.readouterr().err
