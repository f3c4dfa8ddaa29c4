"""The headlines: their sweeps exist, what they measure is in them, and gains are paired by seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from testbed.bench.papers.bench import bench_papers
from testbed.bench.papers.claims import Exactly, GainPoint, UpTo
from testbed.bench.papers.direct import frontier_of_strategies
from testbed.bench.papers.headline import Contest, Headline, gains
from testbed.bench.papers.headlines import headlines
from testbed.bench.papers.page import Judged, page_lines
from testbed.sweeps.groups import PointGroup
from testbed.sweeps.loader import load_sweep
from testbed.sweeps.scenario_model import Outcome, Point, ScenarioSweep
from tests.support.left_out import left_out

_SWEPT = [headline for headline in headlines() if headline.direct is None]


def group(variant: str, values: Sequence[float | None], load: str = "1", verdict: str = "pass") -> PointGroup:
    labels = (("scenario", "s"), ("variant", variant), ("job.load", load))
    return PointGroup(
        labels,
        tuple(Point(labels, seed, "", "x") for seed in range(1, len(values) + 1)),
        tuple(Outcome("done", verdict, {"jct_s": value}) for value in values),
    )


def test_gains_are_paired_by_seed_and_the_best_peer_counts() -> None:
    groups = [group("us", [1.0, 2.0, None]), group("a", [3.0, 3.0, 3.0]), group("b", [4.0, 2.5, 3.0])]
    found = gains([Contest("us", ("a", "b"))], "jct_s")(groups)
    assert found == [GainPoint("load 1", (3.0, 1.25))]


def test_a_failed_run_has_no_gain_and_a_missing_peer_none() -> None:
    failed = [group("us", [1.0], verdict="fail"), group("a", [3.0])]
    assert gains([Contest("us", ("a",))], "jct_s")(failed) == [GainPoint("load 1", ())]
    assert gains([Contest("us", ("a",))], "jct_s")([group("us", [1.0])]) == [GainPoint("load 1", ())]


@pytest.mark.parametrize("headline", _SWEPT, ids=lambda headline: headline.key)
@pytest.mark.protocols("switchml")
def test_the_sweep_of_a_headline_has_its_variants_and_axes(headline: Headline) -> None:
    if headline.sweep in left_out():
        pytest.skip(f"the tree lacks {headline.sweep}")
    sweep = load_sweep(headline.sweep)
    assert isinstance(sweep, ScenarioSweep)
    assert set(headline.variants) <= {variant.label for variant in sweep.variants}
    for key, values in headline.quick:
        assert {str(value) for value in values} <= {str(value) for value in dict(sweep.axes)[key]}


def test_each_headline_has_a_key_of_its_own_and_says_what_was_decided() -> None:
    assert len({headline.key for headline in headlines()}) == len(headlines())
    assert len(headlines()) == 12 or left_out()
    assert all(headline.decided and headline.setting and headline.published for headline in headlines())
    assert all((headline.direct is None) == bool(headline.sweep) for headline in headlines())


def test_the_frontier_has_the_best_strategy_for_each_memory() -> None:
    assert all(place.gains == (1.0,) for place in frontier_of_strategies(lambda text: None)[:3])


def _headline(key: str) -> Headline:
    return next(headline for headline in headlines() if headline.key == key)


@pytest.mark.protocols("ps")
def test_dlcp_meets_the_best_peer_and_says_what_other_peers_would_give() -> None:
    headline = _headline("dlcp")
    sweep = load_sweep(headline.sweep)
    assert isinstance(sweep, ScenarioSweep)
    times = {"whole flows": 3.0, "server": 1.0, "ring": 4.0, "ring, IRN": 1.5}
    groups = [group(each.label, [times.get(each.label, 2.0)] * 3) for each in sweep.variants]
    found = headline.measure(groups)
    assert {place.name.split(" ")[0]: place.interval[1] for place in found} == {"server": 0.5, "ring": 0.75}
    assert len(found) == 6
    remark = headline.remark(groups)
    assert "over go-back-N alone the best gain is 2.00" in remark
    assert "with whole flows the best gain is 1.50" in remark
    assert "best gain" not in headline.remark([])


@pytest.mark.protocols("repair")
def test_a_row_end_to_end(tmp_path, monkeypatch) -> None:
    """Real runs of three codes, their files, and the table in 80 columns."""
    monkeypatch.setattr("testbed.bench.papers.bench._FOLDER", tmp_path)
    report = bench_papers(lambda text: None, headlines=[_headline("regenerating")])
    (row,) = report.rows
    assert row.met
    assert row.note.startswith("reproduced: all 2 figures within 5%")
    lines = list(report.lines(80))
    assert max(map(len, lines)) <= 80
    assert any("reproduced" in line for line in lines)
    assert {"papers.json", "papers.csv", "papers.md"} <= {path.name for path in tmp_path.iterdir()}
    assert "| `regenerating` |" in (tmp_path / "papers.md").read_text()


def test_a_headline_without_valid_runs_is_unknown_and_missed(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("testbed.bench.papers.bench._FOLDER", tmp_path)
    nothing = Headline("x", "p", "q", "s", "d", "", lambda groups: [], UpTo(2), direct=lambda say: [GainPoint("a", ())])
    (row,) = bench_papers(lambda text: None, headlines=[nothing]).rows
    assert not row.met
    assert row.note == "unknown: too few valid runs: a"


def test_a_figure_of_an_unknown_setting_is_not_reproduced(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("testbed.bench.papers.bench._FOLDER", tmp_path)
    good = [GainPoint("a", (2.0,), exact=True)]
    known = Headline("x", "p", "q", "s", "d", "", lambda groups: [], UpTo(2), direct=lambda say: good)
    unknown = replace(known, is_setting_known=False)
    first, second = bench_papers(lambda text: None, headlines=[known, unknown]).rows
    assert first.note.startswith("reproduced: ")
    assert second.note.startswith("direction holds: ")
    assert second.note.endswith("; the paper's setting is not known")


def test_the_page_names_settings_and_intervals() -> None:
    from testbed.bench.papers.claims import judged

    places = (GainPoint("a", (1.0, 1.2, 1.3)), GainPoint("b", (2.0,), exact=True))
    headline = Headline("x", "A paper", "twice", "theirs", "ours", "", lambda groups: [], Exactly({"a": 1, "b": 2}))
    text = "\n".join(page_lines([Judged(headline, places, *judged(headline.claim, places))]))
    assert "| `x` | twice | 1.20 [1.00, 1.30] to 2.00 | holds in part |" in text
    assert "- `x` (A paper). Paper: theirs. Here: ours. A: 1.20, not 1.00." in text
