"""One bad file per mistake, with the exact text that a person gets. After a deliberate change of the texts:

UPDATE_GOLDEN=1 ./tb test tests/testbed/scenario/test_errors.py    and read the diff
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from testbed.faults.events import FaultStruck
from testbed.plan import make_plan
from testbed.scenario import InvalidScenario, load_scenario, parse_scenario
from testbed.worlds.simulated import simulate
from tests.support.left_out import left_out, without_missing
from workloads.errors import ScenarioError

_FOLDER = Path(__file__).parent / "errors"
_NAMES = sorted(path.relative_to(_FOLDER).with_suffix("").as_posix() for path in _FOLDER.rglob("*.txt"))
"""`PROTOCOL/NAME`: of one protocol alone"""
_GOOD = "name: good\ntopology: {kind: rack, hosts: 4}\nfaults:\n  - {kind: loss, name: rain, rate: 1%}\n"


def test_there_are_enough_of_them():
    assert len(_NAMES) >= 30
    assert {path.stem for path in _FOLDER.glob("*.yaml")} == {path.stem for path in _FOLDER.glob("*.txt")}


@pytest.mark.parametrize("name", _NAMES)
def test_the_text_is_as_agreed(name, monkeypatch):
    golden = _FOLDER / f"{name}.txt"
    if lacks := left_out() & set(re.findall(r"[\w-]+", golden.with_suffix(".yaml").read_text(encoding="utf-8"))):
        pytest.skip(f"the tree lacks {', '.join(sorted(lacks))}")
    monkeypatch.chdir(golden.parent)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(f"{golden.stem}.yaml")
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(f"{caught.value}\n", encoding="utf-8")
    whole = golden.read_text(encoding="utf-8")
    expected = without_missing(whole)
    if f"{caught.value}\n" != whole and left_out() & set(re.findall(r"[\w-]+", expected)):
        pytest.skip("the text is about what the tree lacks")
    assert f"{caught.value}\n" in (whole, expected)
    assert caught.value.exit_code == 64


@pytest.mark.parametrize(
    ("override", "text"),
    [
        (
            "topology.hosts=1",
            "--set: topology.hosts: out of range; found 1; allowed: a whole number from 2 to 1024",
        ),
        ("job.collective=netreduce", "--set: job.collective: this key has a new name; allowed: protocol"),
        (
            "topology.hots=4",
            "--set: topology.hots: unknown key; allowed: kind, hosts, link, links; did you mean 'hosts'?",
        ),
        (
            "faults[1].rate=2%",
            "--set: faults: no such entry; found 1; allowed: 0, rain",
        ),
        (
            "faults.rain.rate=200%",
            (
                "--set: faults[0].rate: a probability outside 0 to 1; found '200%'; allowed: 0% to 100%, or a number "
                "from 0 "
                "to 1, as 1% or 0.01"
            ),
        ),
        ("name.x=1", "--set: name: is a value and has no keys; found 'x' below 'good'; allowed: name=VALUE"),
        (
            "seed",
            (
                "--set: not of the form key=value; found 'seed'; allowed: key=value, as transport.verb=send or "
                "faults[0].rate=2%"
            ),
        ),
        ("a b=1", "--set: not a key; found 'a b'; allowed: key=value, as transport.verb=send or faults[0].rate=2%"),
        (
            "switch.program=/no/such.py:A",
            "--set: switch.program: no such program file; found '/no/such.py'; allowed: a .py file",
        ),
        ("seed=&x 1", "--set:1: anchors are not allowed; found &x; write the value out"),
    ],
)
def test_an_override_is_checked_like_a_file(override, text):
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(_GOOD, "good.yaml", [override])
    assert str(caught.value) == text


def test_seed_and_world_of_the_command_line_are_named_as_such():
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(_GOOD, "good.yaml", seed=-1, world="mars")
    assert str(caught.value).splitlines() == [
        "--seed: seed: out of range; found -1; allowed: a whole number from 0 to 9223372036854775807",
        "--world: world: unknown value; found 'mars'; allowed: emulated, simulated, lab",
    ]


def test_all_problems_come_at_once_in_the_order_of_the_file():
    with pytest.raises(InvalidScenario) as caught:
        parse_scenario((_FOLDER / "many.yaml").read_text(encoding="utf-8"), "many.yaml", ["seed=-1"])
    lines = [problem.line for problem in caught.value.problems]
    assert lines[:-1] == sorted(lines[:-1])
    assert len(lines) >= 7
    assert caught.value.problems[-1].file == "--set"


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "binary.yaml").write_bytes(b"name: x\n\xff\xfe\n")
    (tmp_path / "large.yaml").write_bytes(b"#" * ((1 << 20) + 1))
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "bell.yaml").write_bytes(b"name: x\ndescription: \a\n")
    expected = {
        "folder.yaml": "folder.yaml: is a folder, not a file",
        "absent.yaml": "absent.yaml: no such file",
        "pipe.yaml": "pipe.yaml: is no regular file: write its text into one",
        "binary.yaml": "binary.yaml:2: not UTF-8 text; found byte 0xff; allowed: UTF-8",
        "large.yaml": "large.yaml: the file is too large; found more than 1 MiB; allowed: at most 1 MiB",
        "bell.yaml": "bell.yaml:2: a character that YAML does not allow; found character 0x0007",
        "rack-lossi": "scenario: no such scenario; found 'rack-lossi'; allowed: a file (*.yaml), or a name from "
        "`tb list scenarios`; did you mean 'rack-lossy'?",
    }
    for name, text in expected.items():
        with pytest.raises(ScenarioError) as caught:
            load_scenario(name)
        assert str(caught.value) == text


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.yaml").touch(mode=0)
    with pytest.raises(ScenarioError, match=r"^secret\.yaml: cannot be read: Permission denied$"):
        load_scenario("secret.yaml")


@pytest.mark.parametrize(
    "fault",
    ["kind: loss", "kind: burst", "kind: drop, match: {opcode: data}", "kind: corrupt", "kind: duplicate",
        "kind: reorder",
     "kind: delay, delay: 1ms", "kind: ecn_mark", "kind: forge, what: foreign"],
)  # fmt: skip
def test_a_rate_of_0_is_a_value(fault):
    text = _GOOD.replace("kind: loss, name: rain, rate: 1%", f"{fault}, name: rain, rate: 0%")
    scenario = parse_scenario(text, "good.yaml")
    assert scenario.faults[0].rate == 0
    history = simulate(make_plan(parse_scenario(text + "job: {size: 20kB}\n", "good.yaml")))
    assert not [record for record in history if isinstance(record.event, FaultStruck)]
    assert history[-1].t > 0
