import sys

import pytest

from testbed.train.command import checked_command
from workloads.errors import ScenarioError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")
    (tmp_path / "run.sh").write_text("")
    (tmp_path / "place").mkdir()
    (tmp_path / "odd.py").mkdir()


@pytest.mark.parametrize(
    "words",
    ["python3 train.py", "python3 -u -W ignore train.py missing.py", "python3 -m mine.module",
     "python3 -c pass missing.py", "bash run.sh", "true missing.py", "bash -c true"],
)  # fmt: skip
def test_what_is_there_runs_as_it_is(words):
    assert checked_command(words.split()) == words.split()


def test_a_script_runs_with_our_python():
    assert checked_command(["train.py", "--x"]) == [sys.executable, "train.py", "--x"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("", "COMMAND: is missing"),
        ("gone.py", "no such script; found gone.py"),
        ("odd.py", "is a folder, not a script"),
        ("train.py/x.py", "cannot be read: Not a directory"),
        ("python3 gone.py", "no such script; found gone.py"),
        ("python3 -u -X dev gone.py", "no such script; found gone.py"),
        ("python3 place", "is a folder, not a script"),
        ("bash gone.sh", "no such script; found gone.sh"),
        ("no-such-program train.py", "no such program; found no-such-program"),
        ("./run.sh", "cannot be executed; found ./run.sh"),
    ],
)
def test_what_is_not_there_is_refused(words, text):
    with pytest.raises(ScenarioError) as caught:
        checked_command(words.split())
    assert text in str(caught.value)


def test_names_that_no_file_can_have():
    with pytest.raises(ScenarioError, match="no name of a file"):
        checked_command(["a\0.py"])
