"""What a plot shows of runs that failed, were refused, or cannot be trusted; names of axes; looks of series."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from testbed.scenario import load_scenario
from testbed.scenario.dump import dump_scenario
from testbed.sweeps.plots.build import pictures_of
from testbed.sweeps.plots.draw import MARKS
from testbed.sweeps.plots.fit import fitted
from testbed.sweeps.plots.names import Quantity, figure_quantity, key_quantity
from testbed.sweeps.plots.options import PlotOptions
from testbed.sweeps.plots.picture import PlotPicture
from testbed.sweeps.plots.styles import look_of, read_style
from testbed.sweeps.plots.write import write_plots
from testbed.sweeps.scenario_model import Outcome
from tests.support.sweeps import is_data, made_up
from workloads.errors import HostCapabilityError, ScenarioError

RATES = (0, "0.1%", "1%", "5%")
PROTOCOLS = ("netreduce", "switchml", "atp", "esa")


def sick(labels: Mapping[str, Any], seed: int) -> Outcome | float:
    """One of each kind at 5 %: refused, failed, untrusted; and 3 survivors of 8."""
    if labels["faults.loss.rate"] != "5%":
        return 0.01 + 0.001 * seed
    return {
        "netreduce": Outcome("done", "pass", {"jct_s": None}, untimed="the machine was too slow"),
        "switchml": Outcome("invalid", reason="no such thing"),
        "atp": Outcome("done", "fail", {"jct_s": 99.0}, reason="sums differ"),
        "esa": Outcome("failed", reason="killed") if seed > 3 else 0.04,
    }[labels["variant"]]


def drawn(picture: PlotPicture, style: str = "ieee") -> Any:
    with mpl.rc_context(dict(read_style(style).rc)):
        figure, _ = fitted(picture, read_style(style))
        figure.draw_without_rendering()
    return figure


@pytest.fixture
def picture() -> PlotPicture:
    (found,) = pictures_of(made_up(sick, variants=PROTOCOLS, axes={"faults.loss.rate": RATES}), "jct_s", PlotOptions())
    return found


def test_what_has_no_median_has_no_height(picture: PlotPicture) -> None:
    at_5 = {series.label: series.marks[-1] for series in picture.series}
    assert {label: (mark.median, mark.why) for label, mark in at_5.items()} == {
        "netreduce": (None, "untrusted"), "switchml": (None, "refused"), "atp": (None, "failed"),
        "esa": (40.0, "failed"),
    }  # fmt: skip
    [area] = drawn(picture).axes
    heights = [float(y) for line in area.lines if is_data(line) for y in line.get_ydata() if not np.isnan(y)]
    assert max(heights) == 40.0, "nothing of 99 s, and no invented height"
    above = [line for line in area.lines if str(line.get_marker()) in {MARKS[why] for why in picture.reasons}]
    assert [line.get_xdata()[0] for line in above] == [5.0] * 3
    top = area.get_window_extent().y1
    assert all(line.get_window_extent().y0 >= top - 1 for line in above), "outside the chart"


def test_the_legend_says_what_marks_mean(picture: PlotPicture) -> None:
    [legend] = drawn(picture).legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words == [*PROTOCOLS, "3 of 8 seeds", "failed", "untrusted", "refused"]
    assert legend.get_title().get_text() == "", "variant is no word for a reader"


def test_a_median_of_survivors_is_hollow(picture: PlotPicture) -> None:
    [area] = drawn(picture).axes
    hollow = [line for line in area.lines if line.get_markerfacecolor() == "white" and len(line.get_xdata())]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in hollow] == [(5.0, 40.0)]


def test_no_line_passes_a_point_that_is_missing() -> None:
    found = made_up(
        lambda labels, seed: Outcome("failed") if labels["faults.loss.rate"] == "1%" else 1.0,
        axes={"faults.loss.rate": RATES},
    )
    [area] = drawn(pictures_of(found, "jct_s", PlotOptions())[0]).axes
    line = next(line for line in area.lines if len(line.get_xdata()) == len(RATES))
    assert list(np.isnan(line.get_ydata())) == [False, False, True, False]


def test_0_has_a_place_on_a_logarithmic_axis_behind_a_break(picture: PlotPicture) -> None:
    [area] = drawn(picture).axes
    assert area.get_xscale() == "symlog"
    pixels = [area.transData.transform((place, 10.0))[0] for place, _ in picture.x.ticks]
    assert pixels[1] - pixels[0] > 20
    assert [label.get_text() for label in area.get_xticklabels()] == ["0", "0.1", "1", "5"]


def test_no_prose_is_in_the_picture(picture: PlotPicture) -> None:
    from matplotlib.text import Text

    words = {text.get_text() for text in drawn(picture).findobj(Text)} - {""}
    ticks = {label for axis in (picture.x, picture.y) for _, label in axis.ticks}
    legend = {*PROTOCOLS, "3 of 8 seeds", "failed", "untrusted", "refused"}
    assert words == {"Packet loss rate (%)", "Job completion time (ms)"} | ticks | legend


@pytest.mark.parametrize(("kind", "reasons"), [("bars", 3), ("heatmap", 3), ("cdf", 3)])
def test_other_kinds_show_them_too(kind: str, reasons: int) -> None:
    found = made_up(sick, variants=PROTOCOLS, axes={"faults.loss.rate": RATES})
    pictures = pictures_of(found, "jct_s", PlotOptions(kind=kind))
    words = [text.get_text() for picture in pictures for text in drawn(picture).legends[0].get_texts()]
    assert set(words) >= {"3 of 8 seeds", "failed", "untrusted", "refused"}


def test_a_curve_of_a_cdf_counts_runs_that_failed() -> None:
    found = made_up(lambda labels, seed: Outcome("failed") if seed > 6 else float(seed), seeds=8)
    [area] = drawn(pictures_of(found, "jct_s", PlotOptions())[0]).axes
    assert max(float(y) for line in area.lines for y in line.get_ydata()) == 6 / 8


def test_a_third_axis_makes_small_multiples() -> None:
    found = made_up(
        lambda labels, seed: 1.0, variants=PROTOCOLS[:2],
        axes={"faults.loss.rate": RATES, "topology.link.rate": ("10Mbps", "1000Mbps")}, seeds=1,
    )  # fmt: skip
    (picture,) = pictures_of(found, "jct_s", PlotOptions())
    assert [chart.title for chart in picture.charts] == ["Link rate: 10 Mbit/s", "Link rate: 1 Gbit/s"]
    assert len(drawn(picture).axes) == 2


def test_more_than_twelve_charts_make_a_second_picture(tmp_path: Path) -> None:
    found = made_up(
        lambda labels, seed: 1.0, variants=PROTOCOLS[:2],
        axes={"topology.hosts": (2, 4), "topology.link.queue": range(1, 14)}, seeds=1,
    )  # fmt: skip
    pictures = pictures_of(found, "jct_s", PlotOptions(kind="cdf"))
    assert [len(picture.charts) for picture in pictures] == [12, 12, 2]


@pytest.mark.parametrize(
    ("key", "label"),
    [
        ("faults.loss.rate", "Packet loss rate (%)"), ("faults[0].rate", "Packet loss rate (%)"),
        ("topology.link.rate", "Link rate (bit/s)"), ("topology.link.delay", "Link delay (s)"),
        ("topology.hosts", "Hosts"), ("topology.link.queue", "Link queue (packets)"), ("job.size", "Gradient size (B)"),
        ("transport.recovery", "Loss recovery"), ("switch.memory", "Switch memory (values)"), ("variant", ""),
        ("protocol", "Protocol"), ("job.window_messages", "Window (messages)"), ("faults.none.rate", "None rate"),
    ],
)  # fmt: skip
def test_the_declaration_of_a_key_names_the_axis(key: str, label: str) -> None:
    assert key_quantity(key, [dump_scenario(load_scenario("rack-lossy"))]).label == label


@pytest.mark.parametrize(
    ("figure", "found"),
    [
        ("jct_s", Quantity("Job completion time", "s")), ("goodput_bps", Quantity("Goodput per worker", "bit/s")),
        ("retransmissions.packets", Quantity("Retransmitted packets")), ("lost.other", Quantity("Lost other")),
        ("jct.timers", Quantity("JCT spent waiting for timers", "%", 100.0)),
        ("faults.loss.strikes", Quantity("Hits of the fault")),
    ],
)  # fmt: skip
def test_the_schema_names_figures(figure: str, found: Quantity) -> None:
    assert figure_quantity(figure) == found


def test_no_two_of_32_series_look_alike() -> None:
    colors = read_style("ieee").colors
    assert len({(look.color, look.marker, look.linestyle) for look in (look_of(n, colors) for n in range(32))}) == 32


def test_colours_differ_for_colour_blind_readers() -> None:
    """In the simulation of deuteranopia and protanopia of Viénot, Brettel and Mollon (1999), in CIE Lab."""
    from matplotlib.colors import to_rgb

    kinds = {"protan": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
             "deutan": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]}  # fmt: skip
    for matrix in kinds.values():
        seen = [np.clip(np.array(matrix) @ (np.array(to_rgb(color)) ** 2.2), 0, 1) ** (1 / 2.2)
                for color in read_style("ieee").colors[:4]]  # fmt: skip
        assert min(np.abs(one - other).max() for n, one in enumerate(seen) for other in seen[:n]) > 0.09


def test_a_heat_map_needs_two_keys() -> None:
    found = made_up(lambda labels, seed: 1.0, axes={"faults.loss.rate": RATES})
    with pytest.raises(ScenarioError, match="a heat map needs two varied keys"):
        pictures_of(found, "jct_s", PlotOptions(kind="heatmap"))


def test_a_size_that_holds_no_text_is_refused(picture: PlotPicture, tmp_path: Path) -> None:
    found = made_up(sick, variants=PROTOCOLS, axes={"faults.loss.rate": RATES})
    with pytest.raises(ScenarioError, match="is too small for the texts of the plot"):
        write_plots(found, tmp_path, PlotOptions(size_in=(1.0, 1.0)))
    assert not list(tmp_path.glob("*.svg"))


def test_a_style_sheet_gives_size_font_and_colours(tmp_path: Path) -> None:
    sheet = tmp_path / "mine.mplstyle"
    sheet.write_text("figure.figsize: 5, 4\nfont.size: 11\naxes.prop_cycle: cycler('color', ['ff0000', '0000ff'])\n")
    style = read_style(str(sheet))
    assert (style.width_in, style.height_in, style.rc["font.size"], style.colors) == (5, 4, 11, ("#ff0000", "#0000ff"))
    for text, problem in (("font.sise: 3\n", "unknown setting"), ("font.size: big\n", "cannot read")):
        sheet.write_text(text)
        with pytest.raises(ScenarioError, match=problem):
            read_style(str(sheet))


def test_formats_of_all_kinds_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = made_up(lambda labels, seed: 1.0 + seed, axes={"faults.loss.rate": RATES})
    written = write_plots(found, tmp_path, PlotOptions(formats=("pdf", "svg", "png"), style="acm"))
    assert [path.name for path in written] == [f"plot-jct_s.{suffix}" for suffix in ("pdf", "svg", "png", "py")]
    assert written[0].read_bytes().startswith(b"%PDF-")
    assert b"/FontType 42" not in written[0].read_bytes() or b"/Type3" not in written[0].read_bytes()
    assert b"<!-- Job completion time (s) -->" in written[1].read_bytes()
    again = [
        path.read_bytes() for path in write_plots(found, tmp_path, PlotOptions(formats=("pdf", "svg"), style="acm"))
    ]
    assert again[:2] == [path.read_bytes() for path in written[:2]], "the same bytes each time"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostCapabilityError, match="LaTeX"):
        write_plots(found, tmp_path, PlotOptions(formats=("pgf",)))
