"""Finished runs side by side."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import testbed as tb
from testbed.cli import main
from testbed.comparison.figures import flat_figures
from testbed.comparison.model import compare_runs
from testbed.comparison.text import comparison_document, comparison_page, comparison_text
from testbed.comparison.units import show_figure


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    top = tmp_path_factory.mktemp("runs")
    changes = [{}, {"topology.link.rate": "50Mbps"}, {"time_limit": "1ms"}]
    small = {"job.size": "40kB", "faults.loss.rate": 0}
    return [
        tb.run("rack-lossy", set=small | change, world="simulated", out=top / f"run{number}").run_dir
        for number, change in enumerate(changes)
    ]


def test_what_differs_and_by_how_much(runs: list[Path]) -> None:
    found = compare_runs(runs[:2])
    assert [(row.name, row.values) for row in found.keys] == [("topology.link.rate", ("100Mbps", "50Mbps"))]
    figures = {row.name: row for row in found.figures}
    assert figures["jct_s"].ratios[1] == pytest.approx(2, rel=0.05)
    assert not figures["gradient_bytes"].differs
    assert figures["jct.path_ns.serialisation"].ratios[1] == pytest.approx(2, rel=0.05)
    assert not [name for name in figures if name.startswith("jct.workers_ns")], "too many for a table"
    assert not [row for row in found.checks if row.differs]
    assert [(row.name, row.values) for row in found.faults] == [("loss", (0, 0))]


def test_three_runs_as_text(runs: list[Path]) -> None:
    lines = list(comparison_text(compare_runs(runs), 120))
    assert lines[0].startswith("A  ")
    assert lines[5].endswith("rack-lossy, simulated world, seed 1: fail")
    assert "keys of the scenario that differ" in lines
    (jct,) = [line.split() for line in lines if line.split()[:1] == ["jct_s"]]
    assert jct[-1] == "-", "the third has none"
    assert jct[-2].endswith("x")
    (liveness,) = [line.split() for line in lines if line.split()[:1] == ["liveness"]]
    assert liveness == ["liveness", "pass", "pass", "fail"]
    assert max(len(line) for line in list(comparison_text(compare_runs(runs), 80))[6:]) <= 80


def test_other_code_is_a_difference(runs: list[Path], tmp_path: Path) -> None:
    """Another version of the sources, Python in place of the C core; not the load of the machine."""
    other = tmp_path / "other"
    shutil.copytree(runs[0], other)
    document = json.loads((other / "result.json").read_text(encoding="utf-8"))
    assert len(document["environment"]["source"]) == 12
    reason = "python (no compiler: cc is not there)"
    document["environment"] |= {"source": "0123456789ab", "code": reason, "load": "high"}
    (other / "result.json").write_text(json.dumps(document), encoding="utf-8")
    found = compare_runs([runs[0], other])
    assert {row.name: row.values[1] for row in found.code} == {"source": "0123456789ab", "code": reason}
    lines = list(comparison_text(found, 120))
    shown = lines[lines.index("code that ran, where it differs") :]
    assert [line.split()[0] for line in shown[1:4] if line.split()][-2:] == ["source", "code"]
    assert comparison_document(found)["code"][0]["differs"] is True
    assert not compare_runs([runs[0], runs[0]]).code


def test_equal_runs_have_nothing_to_tell(runs: list[Path]) -> None:
    lines = list(comparison_text(compare_runs([runs[0], runs[0]]), 80))
    assert lines[5:7] == ["keys of the scenario that differ", "  none"]
    assert any(line.endswith("are equal") for line in lines)
    assert not [line for line in lines if "x" in line.split()[-1:]]


def test_the_page_holds_equal_rows_too_and_nothing_from_outside(runs: list[Path]) -> None:
    page = comparison_page(compare_runs(runs))
    assert '<tr class="same"><td>gradient_bytes</td>' in page
    assert '<td class="fail">fail</td>' in page
    assert "http" not in page
    assert "prefers-color-scheme:dark" in page


def test_the_command(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *map(str, runs[:2]), "--html", str(tmp_path / "page.html")]) == 0
    assert "topology.link.rate  100Mbps  50Mbps" in capsys.readouterr().out
    assert (tmp_path / "page.html").is_file()
    assert main(["compare", *map(str, runs), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [run["verdict"] for run in document["runs"]] == ["pass", "pass", "fail"]
    assert {"keys", "figures", "checks", "faults"} <= set(document)


def test_from_python(runs: list[Path]) -> None:
    found = tb.compare(tb.load(runs[0]), runs[1])
    assert isinstance(found, tb.Comparison)
    assert [row.name for row in found.keys] == ["topology.link.rate"]


def test_a_page_that_cannot_be_written_is_the_users_to_mend(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "absent" / "page.html"
    assert main(["compare", *map(str, runs[:2]), "--html", str(there)]) == 64
    assert capsys.readouterr().err == (
        f"tb: {there}: --html: cannot be written; found No such file or directory; allowed: a file in a folder that is "
        "there\n"
    )


def test_what_cannot_be_compared_is_said(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(runs[0])]) == 64
    assert (
        capsys.readouterr().err == "tb compare: not a number of runs that can be compared; found 1; allowed: 2 to 26\n"
    )
    assert main(["compare", str(runs[0]), str(tmp_path)]) == 64
    assert "not a run directory" in capsys.readouterr().err
    shutil.copytree(runs[0], tmp_path / "half")
    (tmp_path / "half" / "scenario.yaml").unlink()
    assert main(["compare", str(runs[0]), str(tmp_path / "half")]) == 64
    assert capsys.readouterr().err == f"tb: {tmp_path}/half/scenario.yaml: no such file\n"


def test_the_order_of_faults_is_no_difference(tmp_path: Path, runs: list[Path]) -> None:
    both = []
    for name in ("one", "two"):
        folder = tmp_path / name
        shutil.copytree(runs[0], folder)
        faults = ["- {name: a, kind: loss, rate: 1%}", "- {name: b, kind: loss, rate: 2%}"]
        text = "\n".join(faults if name == "one" else faults[::-1])
        (folder / "scenario.yaml").write_text(f"name: x\nfaults:\n{text}\n", encoding="utf-8")
        both.append(folder)
    assert compare_runs(both).keys == ()


def test_lists_of_named_things_have_names_in_figures() -> None:
    document = {
        "metrics": {
            "jct_s": None,
            "jobs": {"each": [{"job": 1, "name": "a", "jct_s": 2.0}]},
            "iterations_s": [1.0, 2.0],
            "reliable": True,
        },
        "faults": [{"name": "loss", "strikes": 3}],
    }
    assert flat_figures(document) == {"jct_s": None, "jobs.each.a.jct_s": 2.0, "faults.loss.strikes": 3}


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [("jct_s", 0.4432, "443 ms"), ("jct_s", 0, "0 s"), ("goodput_bps", 94.64e6, "94.6 Mbit/s"),
        ("lost.data", 1234567, "1,234,567"), ("jobs.busy", 0.31823, "0.318")],
)  # fmt: skip
def test_figures_in_words(name: str, value: float, shown: str) -> None:
    assert show_figure(name, value) == shown
