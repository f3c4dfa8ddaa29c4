"""The package that `tb new protocol` writes works in both worlds, without an edit of this repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.cli import main
from testbed.scaffold.protocol import files_of_protocol
from tests.support.emulated import needs_root
from tests.support.packages import install
from tests.support.traces import node, write_trace

TOP = Path(__file__).resolve().parents[3]
CHOSEN = (
    "switchml-lossy", "--set", "job.protocol=two_thirds", "--set", "switch.program=two_thirds", "--set",
    "job.size=20kB", "--set", "job.iterations=1",
)  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    install(folder, "two_thirds")
    return folder


def tb(site: Path, *words: str, module: str = "testbed") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{TOP}:{site}", "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-P", "-m", module, *words], cwd=site, env=environment, capture_output=True, text=True,
        timeout=250, check=False,
    )  # fmt: skip


def test_it_runs_is_judged_and_replayed_by_its_name(site: Path) -> None:
    done = tb(site, "run", *CHOSEN, "--world", "simulated", "-q", "--json", "--out", "first")
    document = json.loads(done.stdout)
    assert (done.returncode, document["verdict"], document["protocol"]) == (0, "pass", "two_thirds")
    assert document["environment"]["own_code"].endswith("(ina-testbed-two_thirds 0.1)")
    assert document["reference"]["sums"] == "two_thirds"
    # A file may name it: that is no code on a command line.
    assert "protocol: two_thirds" in (site / "first/scenario.yaml").read_text(encoding="utf-8")
    done = tb(site, "replay", "first", "-q", "--out", "second")
    assert "no differences" in done.stdout, done.stderr


@pytest.mark.protocols("ring")
def test_it_sums_for_a_trace(site: Path) -> None:
    write_trace(site / "trace", [[node(0, "all_reduce", comm_size=40_000), node(1, "all_gather", comm_size=900)]] * 4)
    words = ("--workload", "trace/", "--world", "simulated", "-q", "--json", "--out", "traced")
    done = tb(site, "run", *CHOSEN[:5], *words)
    document = json.loads(done.stdout)
    assert (done.returncode, document["verdict"]) == (0, "pass"), done.stderr
    assert {check["name"] for check in document["checks"]} >= {"bit_exact", "exactly_once"}


def test_it_is_hunted_in(site: Path) -> None:
    done = tb(site, "hunt", "--protocol", "two_thirds", "--schedules", "20", "--jobs", "1", "--out", "hunt")
    assert "Verdict: PASS      no schedule broke a rule" in done.stdout, done.stderr


@pytest.mark.parametrize("world", [pytest.param("emulated", marks=needs_root)])
def test_it_runs_between_namespaces(site: Path, world: str) -> None:
    done = tb(site, "run", *CHOSEN, "--world", world, "--no-twin", "-q", "--json", "--out", "between")
    assert json.loads(done.stdout)["verdict"] == "pass", done.stderr


def test_its_own_tests_pass(site: Path) -> None:
    done = tb(site, "-q", "-p", "no:cacheprovider", "tests", module="pytest")
    assert "4 passed" in done.stdout, done.stdout


def test_its_code_is_linted_and_formatted(site: Path) -> None:
    checked = [str(site / "two_thirds"), str(site / "tests")]
    for words in (["check", "--select=E,F,W,B,UP,N", "--line-length=120"], ["format", "--check", "--line-length=120"]):
        done = tb(site, *words, "--isolated", *checked, module="ruff")
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("__init__.py", 'plan_as("switchml", scenario)', '{}["nothing"]',
         "two_thirds/__init__.py:37: the protocol's own code failed in plan: KeyError: 'nothing'"),
        ("worker.py", "        return SwitchMlWorker(",
         "        raise ValueError('no worker')\n        return SwitchMlWorker(",
         "two_thirds/worker.py:39: the protocol's own code failed in create: ValueError: no worker"),
        ("program.py", "        self.count(", "        raise ValueError('no frame')\n        self.count(",
         "two_thirds/program.py:14: class TwoThirdsProgram: the program's own code failed on switch s1 in"),
        ("worker.py", "        return SwitchMlWorker(",
         "        import os\n        os._exit(0)\n        return SwitchMlWorker(",
         "own code ended its process"),
    ],
    ids=["plan", "worker", "program", "exit"],
)  # fmt: skip
def test_what_its_code_does_wrong_is_its_own(tmp_path: Path, file: str, old: str, new: str, told: str) -> None:
    install(tmp_path, "two_thirds")
    path = tmp_path / "two_thirds" / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    done = tb(tmp_path, "run", *CHOSEN, "--world", "simulated", "-q", "--out", "run")
    assert done.returncode == 64, done.stderr
    assert told in done.stderr


def test_a_package_is_written_where_nothing_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "protocol", "thirds"]) == 0
    assert "thirds: 6 files" in capsys.readouterr().out
    assert {str(path.relative_to("thirds")) for path in Path("thirds").rglob("*") if path.is_file()} == set(
        files_of_protocol("thirds")
    )
    assert main(["new", "protocol", "thirds"]) == 64
    assert "thirds: exists; allowed: a new or an empty folder (--out)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ring", "there is a protocol of this name; found 'ring'"),
        ("json", "there is a module of this name; found 'json'"),
        ("numpy", "there is a module of this name; found 'numpy'"),
        ("Thirds", "no name for a protocol; found 'Thirds'"),
        ("lambda", "no name for a protocol; found 'lambda'"),
        ("../x", "no name for a protocol; found '../x'"),
    ],
)
def test_names_that_no_protocol_can_have(capsys: pytest.CaptureFixture[str], name: str, told: str) -> None:
    assert main(["new", "protocol", name]) == 64
    assert told in capsys.readouterr().err
