from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.bench import BenchOptions, bench_world, registry, run_bench
from testbed.bench.contract import Bench
from testbed.bench.measure import ToldRun
from testbed.bench.rows import VIRTUAL, Report, Row, as_documents, repeated, spread, trust_of
from testbed.cli import main
from workloads.errors import ScenarioError


def row(ratio: float = 1.0, target: float | None = 0.9, fidelity: str = "pass", needs_fidelity: bool = False) -> Row:
    return Row(
        "goodput", "bound", *repeated([90.0, 100.0, 105.0]), "bit/s", ratio,
        target=target, fidelity=fidelity, needs_fidelity=needs_fidelity,
    )  # fmt: skip


def test_a_summary_is_the_median_and_the_spread_around_it() -> None:
    assert (row().median, row().spread, row().repeats) == (100.0, 0.15, 3)
    assert spread([4.0]) == 0.0


@pytest.mark.parametrize(
    ("made", "met"),
    [
        (row(0.9), True),
        (row(0.8999), False),
        (row(0.1, target=None), True),
        (row(1.0, fidelity="unknown"), True),
        (row(1.0, fidelity="unknown", needs_fidelity=True), False),
    ],
)
def test_a_target_is_met_by_the_ratio_and_where_asked_by_a_machine_that_kept_up(made: Row, met: bool) -> None:
    assert made.met is met
    assert as_documents([made])[0]["met"] is met


def test_the_exit_code_says_whether_every_target_was_met(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row(0.95), row(0.5)]
    monkeypatch.setitem(registry.benches(), "fake", Bench("fake", lambda say, world, options: rows, ("simulated",)))
    assert run_bench("fake", as_json=True) == 1
    assert [item["ratio"] for item in json.loads(capsys.readouterr().out)] == [0.95, 0.5]
    rows.pop()
    assert run_bench("fake") == 0
    assert "goodput" in capsys.readouterr().out


def test_a_ratio_may_have_to_lie_between_two_values() -> None:
    assert [replace(row(ratio), most=1.1).met for ratio in (0.89, 0.9, 1.1, 1.11)] == [False, True, True, False]


def test_every_bench_says_for_whom_its_rows_hold() -> None:
    runs = [ToldRun(2, 0.01), ToldRun(8, -0.04), ToldRun(4, None)]
    assert trust_of("emulated", runs) == {"world": "emulated", "dilation": 8, "deviation": -0.04}
    assert trust_of("simulated", [ToldRun()]) == {"world": "simulated", "dilation": 1, "deviation": None}
    both = [replace(row(), **trust_of(world, runs)) for world in ("simulated", "emulated")]
    assert [item["machine"] for item in as_documents(both, "2 x a processor")] == [VIRTUAL, "2 x a processor"]
    assert [(item["repeats"], item["spread"], item["dilation"]) for item in as_documents(both)] == [(3, 0.15, 8)] * 2


def test_the_foot_of_a_table_names_the_machine_only_of_what_was_measured_on_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [replace(row(), world="simulated")]
    monkeypatch.setitem(registry.benches(), "fake", Bench("fake", lambda say, world, options: rows, ("simulated",)))
    run_bench("fake")
    assert capsys.readouterr().out.splitlines()[-1] == "in virtual time: the same on every machine"
    rows[:] = [row()]
    run_bench("fake")
    assert capsys.readouterr().out.splitlines()[-1] == f"on {registry.machine_name()}"


def test_a_bench_measures_in_its_worlds() -> None:
    assert (bench_world("allreduce"), bench_world("hierarchical")) == ("emulated", "simulated")
    assert bench_world("hierarchical", "emulated") == "emulated"
    with pytest.raises(ScenarioError) as caught:
        bench_world("allreduce", "simulated")
    assert str(caught.value) == (
        "tb bench: --world: allreduce does not measure in that world; found 'simulated'; allowed: emulated"
    )


def test_an_unknown_bench_is_named_with_the_nearest() -> None:
    with pytest.raises(ScenarioError, match=r"no such bench, did you mean allreduce\?; found 'allredce'"):
        run_bench("allredce")


@pytest.mark.protocols("esa", "netreduce", "ps")
def test_options_are_for_benches_that_have_them() -> None:
    with pytest.raises(ScenarioError) as caught:
        run_bench("fabric", options=BenchOptions(quick=True))
    assert (
        str(caught.value)
        == "tb bench: --quick: fabric has no such option; allowed: with evolution, ina, loss, papers, peers"
    )
    with pytest.raises(ScenarioError, match="--csv: allreduce has no such option"):
        run_bench("allreduce", options=BenchOptions(csv=Path("x.csv")))


def test_a_table_of_its_own_stands_above_the_rows_that_ask_for_something(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = Report([row(0.95), replace(row(0.5, target=None), what="for information")], lambda width: ["the table"])
    fake = Bench("fake", lambda say, world, options: report, ("simulated",), ("quick",))
    monkeypatch.setitem(registry.benches(), "fake", fake)
    assert run_bench("fake", options=BenchOptions(quick=True)) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("the table\n")
    assert "goodput" in shown
    assert "for information" not in shown
    assert run_bench("fake", as_json=True) == 0
    assert [item["what"] for item in json.loads(capsys.readouterr().out)] == ["goodput", "for information"]


def test_a_row_says_for_whom_it_holds() -> None:
    row = Row("goodput", "bound", *repeated([1.0, 2.0, 4.0]), "bit/s", 0.9, dilation=12, deviation=-0.02)
    [document] = as_documents([row], "2 x processor, Linux 6.1")
    told = {key: document[key] for key in ("machine", "dilation", "deviation", "repeats", "spread")}
    assert told == {
        "machine": "2 x processor, Linux 6.1", "dilation": 12, "deviation": -0.02, "repeats": 3, "spread": 1.5,
    }  # fmt: skip


@pytest.mark.protocols("grid")
def test_dilation_is_for_benches_that_heed_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "grid", "--dilation", "3"]) == 64
    assert "grid has no such option" in " ".join(capsys.readouterr().err.split())
