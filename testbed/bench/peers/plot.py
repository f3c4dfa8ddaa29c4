"""The medians as bars, smallest and largest as whiskers: SVG with its words as text."""

from __future__ import annotations

import io

from testbed.bench.peers.cases import RATE_BPS, SUBJECTS
from testbed.bench.peers.summary import Figures

__all__ = ["plot_svg"]

_COLORS = ("#0072b2", "#56b4e9", "#e69f00", "#f0e442", "#d55e00", "#cc79a7")
"""colours that colour-blind readers can distinguish as well (after Okabe and Ito)"""
_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "ina-testbed", "font.size": 9, "axes.axisbelow": True}
_FILLED = 0.84
"""share of the room of a case"""


def plot_svg(figures: Figures, machine: str) -> str:
    """A chart for each size. `machine`: where it was measured."""
    import matplotlib as mpl

    with mpl.rc_context(_STYLE):
        from matplotlib.figure import Figure

        sizes = sorted({case.size_bytes for _, case in figures})
        drawing = Figure(figsize=(8.0, 4.2 * len(sizes)), layout="constrained")
        for area, size in zip(drawing.subplots(len(sizes), 1, squeeze=False).flat, sizes, strict=True):
            cases = sorted(
                {case for _, case in figures if case.size_bytes == size}, key=lambda case: (case.hosts, case.loss)
            )
            shown = [subject for subject in SUBJECTS if any((subject, case) in figures for case in cases)]
            wide = _FILLED / len(shown)
            for number, subject in enumerate(shown):
                there = [(at, figures[subject, case]) for at, case in enumerate(cases) if (subject, case) in figures]
                spots = [at + (number - (len(shown) - 1) / 2) * wide for at, _ in there]
                heights = [figure.multiple for _, figure in there]
                ends = [[sample.multiple for sample in figure.samples] for _, figure in there]
                whiskers = [
                    [height - min(values) for height, values in zip(heights, ends, strict=True)],
                    [max(values) - height for height, values in zip(heights, ends, strict=True)],
                ]
                bars = area.bar(spots, heights, wide, yerr=whiskers, capsize=2, label=subject, color=_COLORS[number])
                area.bar_label(bars, [f"{height:.2f}" for height in heights], fontsize=7, padding=2)
            area.set_xticks(range(len(cases)), [f"N={case.hosts}, {100 * case.loss:g}% loss" for case in cases])
            area.set_ylabel("time / (M/B)")
            area.set_title(f"all-reduce of {size / 1e6:g} MB float32 over links of {RATE_BPS / 1e6:g} Mbit/s")
            area.grid(axis="y", color="#dddddd")
            area.legend(ncols=3, frameon=False)
        drawing.supxlabel(
            f"medians of {max(len(figure.samples) for figure in figures.values())}; whiskers: smallest and largest\n"
            f"{machine}",
            fontsize=7, color="#555555",
        )  # fmt: skip
        text = io.StringIO()
        drawing.savefig(text, format="svg", metadata={"Date": None})
        return text.getvalue()
