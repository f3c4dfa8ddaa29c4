"""`import testbed as tb`: what a script or a notebook asks of a run."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

import testbed as tb
from testbed.runs import needs

SMALL_RACK = {"job.size": "20kB", "job.iterations": 1}
SMALL = {"job.size": "40kB", "faults.loss.rate": "2%"}


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> tb.Run:
    return tb.run("rack-lossy", set=SMALL, world="simulated", seed=3, out=tmp_path_factory.mktemp("runs") / "run")


def test_the_public_names_are_these() -> None:
    """Others' scripts rest on them: to take one away is to break those."""
    assert set(tb.__all__) >= {
        "HostCapabilityError", "InternalError", "LabError", "Run", "ScenarioError", "TestbedError", "__version__",
        "load", "run",
    }  # fmt: skip
    assert set(tb.__all__) <= set(dir(tb))
    for name in tb.__all__:
        assert getattr(tb, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        tb.nonsense  # noqa: B018


def test_the_import_alone_is_cheap() -> None:
    told = (
        "import sys, testbed; print(sorted(name for name in sys.modules if name.partition('.')[0] in ('numpy', "
        "'testbed', 'yaml')))"
    )
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['testbed']"


def test_a_run_is_a_value(lossy: tb.Run) -> None:
    assert (lossy.scenario, lossy.world, lossy.seed) == ("rack-lossy", "simulated", 3)
    assert lossy.verdict == "pass"
    assert lossy.as_expected
    assert {check.name for check in lossy.checks} >= {"bit_exact", "liveness"}
    assert lossy.report.is_file()
    assert "Verdict: PASS" in lossy.summary()
    assert lossy.replay.startswith("tb run ")
    assert "rack-lossy" in lossy._repr_html_()


def test_figures_have_dotted_names(lossy: tb.Run) -> None:
    struck = lossy.figures["faults.loss.strikes"]
    assert struck is not None
    assert struck == len(lossy.events("FaultStruck")) > 0
    assert lossy.figures["jct_s"] == lossy.document["metrics"]["jct_s"]
    assert (
        lossy.figures["retransmissions.by_cause.nak"] == lossy.document["metrics"]["retransmissions"]["by_cause"]["nak"]
    )
    assert not [value for value in lossy.figures.values() if isinstance(value, dict | list | bool)]


def test_load_reads_the_same_run_again(lossy: tb.Run) -> None:
    again = tb.load(str(lossy.run_dir))
    assert again.figures == lossy.figures
    assert again.verdict is lossy.verdict
    assert len(again.history) == len(lossy.history)


def test_the_history_as_a_table(lossy: tb.Run) -> None:
    pd = pytest.importorskip("pandas")
    table = lossy.frame()
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns[:3]) == ["t", "node", "event"]
    assert len(table) == len(lossy.history)
    strikes = lossy.frame("FaultStruck")
    assert set(strikes["fault"]) == {"loss"}
    assert "sha256" not in strikes.columns


def test_without_pandas_it_says_how_to_have_it(lossy: tb.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(tb.HostCapabilityError, match=r"pip install 'ina-testbed\[pandas\]'"):
        lossy.frame()


def test_it_works_off_the_main_thread_and_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As in a notebook that keeps its main thread for itself."""
    made: list[tb.Run] = []
    thread = threading.Thread(
        target=lambda: made.append(tb.run("rack", set={"job.size": "4kB"}, world="simulated", out=tmp_path / "run"))
    )
    thread.start()
    thread.join()
    assert made[0].verdict == "pass"
    assert capfd.readouterr() == ("", "")


def test_who_listens_hears_every_event(tmp_path: Path) -> None:
    heard: list[object] = []
    made = tb.run("rack", set={"job.size": "4kB"}, world="simulated", out=tmp_path / "run", on_record=heard.append)
    assert len(heard) == len(made.history) > 10


def test_bad_input_raises_and_says_where(tmp_path: Path) -> None:
    with pytest.raises(tb.ScenarioError, match=r"faults\[0\].rate: .*allowed: ") as caught:
        tb.run("rack-lossy", set={"faults.loss.rate": "200%"}, world="simulated", out=tmp_path / "run")
    assert caught.value.exit_code == 64
    with pytest.raises(tb.ScenarioError, match="set: job: not a value of a scenario; found"):
        tb.run("rack", set={"job": object()}, world="simulated")  # type: ignore[dict-item]
    with pytest.raises(tb.ScenarioError, match="not a run directory"):
        tb.load(tmp_path)


def test_without_root_the_emulated_world_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(needs, "is_root", lambda: False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tb.HostCapabilityError, match=r'lacks root.*world="simulated" needs no root'):
        tb.run("rack", world="emulated")
    assert not list(tmp_path.iterdir())
    assert tb.run("rack", set={"job.size": "4kB"}, world="simulated").verdict == "pass"


def test_slow_code_is_warned_of_with_its_reason_and_its_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that fails: no summary is printed here."""
    why = "python (the C core cannot be built: x.c:1: error: no such type)"
    monkeypatch.setattr("testbed.worlds.base.account_of", lambda libraries: why)
    with pytest.warns(RuntimeWarning, match=r"C core of ina-testbed did not run: python \(the C core cannot") as told:
        tb.run("rack", set=SMALL_RACK, world="simulated", out=tmp_path / "run")
    assert "about 20 times slower in virtual time" in str(told[0].message)
    assert told[0].filename == __file__
    monkeypatch.setattr("testbed.worlds.base.account_of", lambda libraries: "python (switched off by INA_NATIVE=0)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tb.run("rack", set=SMALL_RACK, world="simulated", out=tmp_path / "wanted")


ENDING = """
import os
from switch_nodes.netreduce import NetReduceProgram


class Ending(NetReduceProgram):
    def finish(self, now):
        os._exit(0)


os.environ.get("END_AT_LOAD") and os._exit(0)
"""


@pytest.mark.parametrize("protocol", [False, True])
def test_code_of_ones_own_that_ends_its_process_ends_no_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(ENDING, encoding="utf-8")
    changes = {"switch.program": "mine.py:Ending"}
    if protocol:
        monkeypatch.setenv("END_AT_LOAD", "1")
        changes = {"job.protocol": "mine.py:Ending"}
    with pytest.raises(tb.ScenarioError, match=r"mine.py: .*ended .*process.* \(exit code 0\)"):
        tb.run("rack", set=SMALL_RACK | changes, world="simulated", out=tmp_path / "run")
