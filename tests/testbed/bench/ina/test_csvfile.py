"""The CSV file of a grid, of made-up runs."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.bench.ina.csvfile import COLUMNS, KeptRuns
from testbed.bench.ina.place import EMULATED, SIMULATED, Point
from testbed.bench.ina.subjects import ATP, ESA, SWITCHML
from testbed.runs.codeversion import code_version
from tests.support.ina_runs import run
from workloads.errors import ScenarioError

_SETTING = (
    '"simulated, 100000000 bit/s, 440000 ns, rto 20000000 ns, 4 workers, window 24, models / 1000, 2 iterations, '
    'jitter 0.05"'
)
_RUNS = {
    Point(SIMULATED, "mix-2+2", SWITCHML, 8, 1): run(0.5),
    Point(SIMULATED, "mix-2+2", ATP, 8, 1): run(0.18),
    Point(SIMULATED, "mix-2+2", ESA, 8, 1): run(0.12, evictions=12),
}


def kept(path: Path) -> KeptRuns:
    return KeptRuns(path, [SIMULATED])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ina.csv"


@pytest.fixture
def begun(path: Path) -> Path:
    runs = kept(path)
    for point, figures in _RUNS.items():
        runs.add(point, figures)
    runs.close()
    return path


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_a_run_is_in_the_file_as_soon_as_it_is_there(path: Path) -> None:
    runs = kept(path)
    assert lines(path) == [",".join(COLUMNS)]
    for number, (point, figures) in enumerate(_RUNS.items(), 2):
        runs.add(point, figures)
        assert len(lines(path)) == number
    assert (
        lines(path)[3]
        == f"mix-2+2,esa,8,0.0833,8,1,1,0.12,0.18,0.5,0.25,0,12,0,0,,,simulated,pass,,1,,{_SETTING},{code_version()}"
    )


def test_a_finished_file_is_in_order_and_has_gains(begun: Path) -> None:
    runs = kept(begun)
    runs.finish([*_RUNS][1:])
    assert [line.split(",")[1] for line in lines(begun)[1:]] == ["atp", "esa", "switchml"]
    assert lines(begun)[2] == (
        f"mix-2+2,esa,8,0.0833,8,1,1,0.12,0.18,0.5,0.25,0,12,0,0,1.5000,4.1667,simulated,pass,,1,,{_SETTING},{code_version()}"
    )
    assert [entry.name for entry in begun.parent.iterdir()] == ["ina.csv"]


def test_what_is_read_is_what_was_written(path: Path) -> None:
    point = Point(EMULATED, "mix-8", ESA, 8, 3, repeat=2)
    late = replace(run(1 / 3, busy=1 / 7, server_bytes=5), fidelity="unknown", reasons=("s1, late;", 'by "2" ms'))
    runs = KeptRuns(path, [EMULATED])
    runs.add(point, late)
    runs.close()
    (found,) = KeptRuns(path, [SIMULATED, EMULATED]).known.items()
    assert found == (point, replace(late, reasons=("s1, late;", 'by "2" ms')))


def test_figures_at_their_bounds_are_read_as_they_were(path: Path) -> None:
    runs = kept(path)
    figures = run(0.5, busy=1.0, useful=0.0)
    for point in _RUNS:
        runs.add(point, figures)
    runs.close()
    assert kept(path).known == dict.fromkeys(_RUNS, figures)


def test_without_peers_there_are_no_gains(path: Path) -> None:
    (*_, (point, figures)) = _RUNS.items()
    runs = kept(path)
    runs.add(point, figures)
    runs.finish([point])
    assert ",12,0,0,,,simulated,pass,," in lines(path)[1]


def test_a_line_that_was_cut_short_is_measured_again(begun: Path) -> None:
    text = begun.read_text(encoding="utf-8")
    begun.write_text(text[:-4], encoding="utf-8")
    assert list(kept(begun).known) == list(_RUNS)[:-1]
    assert begun.read_text(encoding="utf-8").endswith("\n")
    assert len(lines(begun)) == len(_RUNS)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("mix,protocol", "mix,program"), ":1: --csv: not a file of tb bench ina"),
        (("mix-2+2,atp", "mix-2+2,atq"), ":3: --csv: a run of another grid; found atq"),
        (("mix-2+2,atp", "mix-3,atp"), ":3: --csv: a run of another grid; found mix-3"),
        (("window 24", "window 48"), f":2: --csv: a run of another grid; found {_SETTING[1:-1].replace('24', '48')}"),
        (("atp,8,", "atp,eight,"), ":3: --csv: no run of tb bench ina; found memory eight"),
        (("mix-2+2,atp", "mix-2+2,,atp"), ":3: --csv: no run of tb bench ina; found 25 columns"),
    ],
)  # fmt: skip
def test_a_file_of_something_else_is_left_alone(begun: Path, change: tuple[str, str], text: str) -> None:
    begun.write_text(begun.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    before = begun.read_bytes()
    with pytest.raises(ScenarioError) as caught:
        kept(begun)
    assert str(caught.value) == (
        f"{begun}{text}; allowed: another file, or one that this bench began with these arguments"
    )
    assert begun.read_bytes() == before


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("average_jct_s", "0", "no run of tb bench ina; found average_jct_s 0"),
        ("average_jct_s", "nan", "no run of tb bench ina; found average_jct_s nan"),
        ("average_jct_s", "-1", "no run of tb bench ina; found average_jct_s -1"),
        ("p95_jct_s", "inf", "no run of tb bench ina; found p95_jct_s inf"),
        ("busy", "1.01", "no run of tb bench ina; found busy 1.01"),
        ("memory", "-5", "no run of tb bench ina; found memory -5"),
        ("repeat", "0", "no run of tb bench ina; found repeat 0"),
        ("fidelity", "banana", "no run of tb bench ina; found fidelity banana"),
        ("world", "emulated", "a run of another grid; found world emulated with a setting of world simulated"),
        ("reasons", "x" * 200_000, "no run of tb bench ina; found field larger than field limit (131072)"),
    ],
)
def test_no_edited_run_is_believed(begun: Path, column: str, value: str, text: str) -> None:
    with begun.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    rows[2][COLUMNS.index(column)] = value
    with begun.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    with pytest.raises(ScenarioError) as caught:
        kept(begun)
    assert str(caught.value).startswith(f"{begun}:3: --csv: {text}; allowed: ")


@pytest.mark.parametrize("text", ["my only copy of precious notes", "a,b", "mix,protocol\n", "x" * 200_000])
def test_a_single_line_of_something_else_is_left_alone(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=":1: --csv: not a file of tb bench ina"):
        kept(path)
    assert path.read_text(encoding="utf-8") == text


def test_a_head_that_was_cut_short_is_written_again(path: Path) -> None:
    path.write_text(",".join(COLUMNS)[:20], encoding="utf-8")
    kept(path).close()
    assert lines(path) == [",".join(COLUMNS)]


def test_a_link_stays_one_and_leads_to_the_file(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    runs = kept(link)
    for point, figures in _RUNS.items():
        runs.add(point, figures)
    runs.finish(_RUNS)
    assert link.is_symlink()
    assert len(lines(path)) == 1 + len(_RUNS)
    link.unlink()
    link.symlink_to(tmp_path / "none" / "ina.csv")
    with pytest.raises(ScenarioError, match=r"link\.csv: --csv: cannot be written: No such file or directory"):
        kept(link)


def test_runs_of_other_code_are_left_alone(begun: Path) -> None:
    text = begun.read_text(encoding="utf-8")
    begun.write_text(text.replace(code_version(), "0123456789ab"), encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        kept(begun)
    assert str(caught.value) == (
        f"{begun}:2: --csv: a run of another version of the programs; found 0123456789ab; "
        f"allowed: a new file, or runs of {code_version()}, which is this one"
    )


def test_what_is_no_text_and_what_is_no_file(path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        kept(path.parent)
    assert str(caught.value) == f"{path.parent}: --csv: cannot be written: Is a directory"
    path.write_bytes(b"mix,\xff\xfe\n")
    with pytest.raises(ScenarioError) as caught:
        kept(path)
    assert str(caught.value).startswith(f"{path}:1: --csv: not a file of tb bench ina; found no text; allowed: ")


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        kept(tmp_path / "none" / "ina.csv")
    assert str(caught.value) == f"{tmp_path}/none/ina.csv: --csv: cannot be written: No such file or directory"
