"""Every table that a command prints, with long names and large numbers, at 80 columns: no number is cut, none is lost,
and no line is too long."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from testbed.bench import registry
from testbed.bench.loss.bench import cost_table
from testbed.bench.loss.cases import LOSS_KEY, cases_of
from testbed.bench.papers.bench import _table as papers_table
from testbed.bench.papers.claims import Bearing, GainPoint
from testbed.bench.papers.headlines import headlines
from testbed.bench.papers.page import Judged
from testbed.bench.peers.summary import figures_of
from testbed.bench.peers.summary import table as peers_table
from testbed.bench.rows import Row as BenchRow
from testbed.cli.steering import _text as steering_lines
from testbed.comparison.model import ComparedRow, Comparison, Side
from testbed.comparison.text import comparison_text
from testbed.doctor.model import Probe
from testbed.doctor.table import as_lines
from testbed.protocols.esa.bench_ina.cases import ATP, emulated_case
from testbed.protocols.esa.bench_ina.cases import cases_of as ina_cases_of
from testbed.protocols.esa.bench_ina.tables import mix_lines
from testbed.protocols.esa.bench_ina.worlds import Pair, world_lines
from testbed.protocols.ps.bench_evolution.cells import ROWS, cells
from testbed.protocols.ps.bench_evolution.matrix import matrix_lines
from testbed.protocols.ps.bench_evolution.runs import EvolutionFigures
from testbed.steering.readings import TableReading, TableRow
from testbed.strategies.measure import Measured, MeasuredFabric
from testbed.strategies.shown import StrategyRow as StrategyRow
from testbed.strategies.shown import StrategyRows
from testbed.sweeps.groups import PointGroup
from testbed.sweeps.report import _table as model_table
from testbed.sweeps.scenario_model import Outcome, Point
from testbed.sweeps.scenario_report import _figure_table
from testbed.terminal.folding import fold_lines
from tests.support.ina_runs import cell
from tests.support.peer_samples import samples
from workloads.strategies import Chain, Operator, price_of
from workloads.strategies import StrategyPoint as StrategyPoint
from workloads.strategies.costs import Devices

_TOP = Path(__file__).resolve().parents[3]
_WIDE = 5_000
_NUMBER = re.compile(r"(?<![\w.,])[-+]?\d[\w.,:+%/-]*(?:\s(?:[kMGT]?(?:bit/s|B)|[mun]?s|bytes?)(?!\w))?")
"""with its unit"""
_LONG = "rack-of-thirty-two-hosts-with-two-uplinks"
_HUGE = 123_456_789_012_345


def _doctor(width: int) -> Iterable[str]:
    probe = Probe("memory", f"memory for {_LONG}", False, f"{_HUGE:,} bytes of 987,654,321 kB", "less", "more")
    return as_lines([probe, replace(probe, ok=True, title="short")], width)


def _strategies(width: int) -> Iterable[str]:
    chain = Chain(_LONG, tuple(Operator(f"operator{n}", 10**13 + n, 10**12, 10**14) for n in range(9)))
    devices = Devices(64, 1e7)
    strategy = ("DP", "MP", "MP", "DP", "DP", "DP", "MP", "DP", "MP")
    point = StrategyPoint(strategy, price_of(chain, strategy, devices))
    found = Measured(1234.5 * point.price.time_s, "unknown", f"liveness: h2 waits for {_HUGE:,} packets")
    return StrategyRows(
        chain, devices, (StrategyRow(point, False, found),), MeasuredFabric(_LONG, (), "ring", _HUGE)
    ).lines(width)


def _comparison(width: int) -> Iterable[str]:
    document = {"scenario": _LONG, "world": "emulated", "seed": 2**62, "verdict": "unknown"}
    sides = tuple(Side(letter, f"runs/{_LONG}-{letter}", document, {}, {}) for letter in "ABCDEF")
    numbers = tuple(_HUGE * (number + 1) for number in range(6))
    return comparison_text(
        Comparison(
            sides=sides,
            keys=(ComparedRow(f"topology.{_LONG}.links", numbers),),
            figures=(
                ComparedRow("jct_s", tuple(1.2345e-3 * (n + 1) ** 9 for n in range(6))),
                ComparedRow("lost.data", numbers),
            ),
            checks=(ComparedRow("bit_exact", tuple(f"fail: {n:,} of {_HUGE:,} elements" for n in numbers)),),
            faults=(ComparedRow(_LONG, numbers),),
            code=(),
        ),
        width,
    )


def _steering(width: int) -> Iterable[str]:
    row = TableRow(f"lead-{_LONG}", 65_535, "eth_dst=02:00:00:00:00:01,ip,udp,tp_dst=4791", "output:64", _HUGE, _HUGE)
    return steering_lines([TableReading("s1", (1, 2), True, (row, replace(row, packets=1)))], width)


def _model_sweep(width: int) -> Iterable[str]:
    head = ["gpus", "gpus_per_machine", "size", *(f"alpha = {n}00 us" for n in range(1, 9)), "found", "closed form"]
    return model_table(head, [[f"{_HUGE:,}"] * len(head), ["PN 1,234x"] * len(head)], width, 3)


def _group(label: str, value: float, times: list[float], verdict: str = "pass") -> PointGroup:
    labels = (("scenario", _LONG), ("variant", label), (LOSS_KEY, value))
    points = tuple(Point(labels, seed, "simulated", "x") for seed in range(len(times)))
    return PointGroup(labels, points, tuple(Outcome("done", verdict, {"jct_s": time}, "why") for time in times))


def _groups() -> list[PointGroup]:
    variants = [f"irn-rack and a window of {number:,} packets" for number in (1, 12_345, 1_234_567)]
    return [_group(name, loss, [1.5e-5, 987_654.0, 3.0]) for name in variants for loss in (0.0, 0.01, 0.02, 0.05, 0.1)]


def _scenario_sweep(width: int) -> Iterable[str]:
    groups = _groups()
    dimensions = {name: list(dict.fromkeys(group.values[name] for group in groups)) for name, _ in groups[0].labels}
    finished = SimpleNamespace(sweep=SimpleNamespace(dimensions=dimensions, variant_name="variant"))
    yield from _figure_table(finished, groups, "jct_s", width)  # type: ignore[arg-type]
    dimensions = {"scenario": [_LONG]}
    finished = SimpleNamespace(sweep=SimpleNamespace(dimensions=dimensions, variant_name="variant"))
    yield from _figure_table(finished, groups[:1], "jct_s", width)  # type: ignore[arg-type]


def _loss(width: int) -> Iterable[str]:
    losses = (0.0, 0.01, 0.02, 0.05, 0.1)
    first = cases_of("simulated")[0]
    return cost_table(replace(first, sweep=replace(first.sweep, axes=((LOSS_KEY, losses),))), _groups(), width)


def _peers(width: int) -> Iterable[str]:
    slow = [
        replace(sample, case=replace(sample.case, hosts=16 * sample.case.hosts), seconds=sample.seconds * 12_345)
        for sample in samples("gloo")
    ]
    return peers_table(figures_of([*samples("gloo"), *slow]), {"gloo": "torch"}, width)


def _papers(width: int) -> Iterable[str]:
    places = (GainPoint(_LONG, (1.02, 12_345.678, 98_765.4)), GainPoint("short", (0.85,)))
    return papers_table([Judged(headline, places, Bearing.UNKNOWN, "why") for headline in headlines()], width)


def _evolution(width: int) -> Iterable[str]:
    found = {
        each: EvolutionFigures(1234.5 * (1 + ROWS.index(each.scheme)), 12_345.678, 1.0, 1.0)
        for each in cells(quick=True)
    }
    return matrix_lines(found, width)


def _ina_worlds(width: int) -> Iterable[str]:
    reason = f"host 64 waited {_HUGE:,} ms for the CPU"
    pairs = [
        Pair(memory, ATP, seed, 12_345.678, 98_765.432, 12.5, 1, 3, reason, 10_000, -0.987)
        for memory in (64, 1_048_576)
        for seed in (1, 2)
    ]
    return world_lines(emulated_case(quick=True, seeds=1), pairs, width)


def _ina(width: int) -> Iterable[str]:
    found, case = {}, ina_cases_of(quick=True)[0]
    for memory in (16_384, 1_048_576):
        for subject in case.subjects:
            made = cell(subject, memory, 123_456.789, 234_567.891)
            figures = {"collisions": _HUGE, "evictions": _HUGE, "resends": _HUGE, "server_bytes": _HUGE}
            found[memory, subject] = replace(made, runs=tuple(replace(run, **figures) for run in made.runs))
    return mix_lines(found, case, width)


def _bench(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterable[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    row = BenchRow(
        f"average JCT of {_LONG}, M = 1,048,576", f"simulated {_HUGE:,} s", 12_345, 9.87654e8, 123.456, "bit/s",
        98_765.432, 0.9, "unknown", True, f"host 64 waited {_HUGE:,} ms", 1.1, 10_000, -0.987,
    )  # fmt: skip
    registry._show([row, replace(row, median=1e-6, unit="s", what="short")])
    return capsys.readouterr().out.splitlines()


TABLES: dict[str, Callable[[int], Iterable[str]]] = {
    "testbed/doctor/table.py": _doctor,
    "testbed/strategies/shown.py": _strategies,
    "testbed/comparison/text.py": _comparison,
    "testbed/cli/steering.py": _steering,
    "testbed/sweeps/report.py": _model_sweep,
    "testbed/sweeps/scenario_report.py": _scenario_sweep,
    "testbed/bench/loss/bench.py": _loss,
    "testbed/bench/papers/bench.py": _papers,
    "testbed/bench/peers/summary.py": _peers,
    "testbed/protocols/ps/bench_evolution/matrix.py": _evolution,
    "testbed/protocols/esa/bench_ina/worlds.py": _ina_worlds,
    "testbed/protocols/esa/bench_ina/tables.py": _ina,
}
"""by the module that lays a table out"""
_OTHERS = {"testbed/bench/registry.py", "testbed/cli/bandwidth.py"}
"""The first prints itself; the second keeps the columns of nccl-tests at every width, for programs that read them."""


def printed(lines: Iterable[str], width: int) -> list[str]:
    """As the commands print them (`fold_lines`)."""
    return list(fold_lines((row for line in lines for row in line.split("\n")), width))


def numbers(lines: Iterable[str]) -> set[str]:
    return {found.group().strip() for line in lines for found in _NUMBER.finditer(line)}


def check(narrow: list[str], wide: list[str]) -> None:
    assert "…" not in "\n".join(narrow)
    assert [line for line in narrow if len(line) > 80] == []
    assert len(numbers(wide)) > 1
    assert numbers(narrow) == numbers(wide)


@pytest.mark.parametrize("module", TABLES)
@pytest.mark.protocols("switchml", "ring")
def test_no_number_of_a_table_is_cut(module: str) -> None:
    check(printed(TABLES[module](80), 80), printed(TABLES[module](_WIDE), _WIDE))


def test_no_number_of_a_bench_is_cut(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    narrow = list(_bench(80, monkeypatch, capsys))
    check(narrow, list(_bench(_WIDE, monkeypatch, capsys)))


def test_every_module_that_lays_out_a_table_is_here() -> None:
    found = set()
    for path in sorted((_TOP / "testbed").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "table_lines" in text and any(
            isinstance(node, ast.Call) and ast.unparse(node.func) == "table_lines" for node in ast.walk(ast.parse(text))
        ):
            found.add(path.relative_to(_TOP).as_posix())
    assert found == set(TABLES) | _OTHERS
