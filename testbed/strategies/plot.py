"""The frontier as a picture: memory of a device against the time of an iteration, as predicted and as measured."""

from __future__ import annotations

import io

from testbed.strategies.shown import StrategyRows
from workloads.strategies.chain import show_strategy

__all__ = ["plot_svg"]

_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "ina-testbed", "font.size": 9, "axes.axisbelow": True}
_PREDICTED, _MEASURED, _OTHER = "#0072b2", "#d55e00", "#999999"
"""colours that colour-blind readers can distinguish as well (after Okabe and Ito)"""


def plot_svg(rows: StrategyRows) -> str:
    """With its words as text."""
    import matplotlib as mpl

    with mpl.rc_context(_STYLE):
        from matplotlib.figure import Figure
        from matplotlib.ticker import EngFormatter

        drawing = Figure(figsize=(8.0, 5.0), layout="constrained")
        area = drawing.subplots()
        best = [row for row in rows.rows if row.is_best]
        others = [row for row in rows.rows if not row.is_best]
        prices = [row.point.price for row in best]
        area.plot(
            [price.memory_bytes for price in prices], [price.time_s for price in prices], color=_PREDICTED, marker="o",
            drawstyle="steps-post", linewidth=1.2, label="frontier, predicted",
        )  # fmt: skip
        if others:
            area.plot(
                [row.point.price.memory_bytes for row in others], [row.point.price.time_s for row in others], "s",
                color=_OTHER, label="not on the frontier, predicted",
            )  # fmt: skip
        found = [(row.point.price.memory_bytes, row.measured) for row in rows.rows if row.measured is not None]
        there = [(memory, item.time_s) for memory, item in found if item.time_s is not None]
        if there:
            area.plot(*zip(*there, strict=True), "x", color=_MEASURED, label="measured in virtual time")
        for row in rows.rows:
            price = row.point.price
            area.annotate(
                show_strategy(row.point.strategy), (price.memory_bytes, price.time_s), xytext=(5, 5),
                textcoords="offset points", fontsize=6, color="#555555",
            )  # fmt: skip
        area.set_xlabel("weights on each device")
        area.set_ylabel("time of an iteration")
        area.xaxis.set_major_formatter(EngFormatter("B"))
        area.yaxis.set_major_formatter(EngFormatter("s"))
        area.set_ylim(bottom=0)
        area.set_title(f"{rows.chain.name or 'chain'} on {rows.devices.count} devices")
        area.grid(color="#dddddd")
        area.legend(frameon=False)
        text = io.StringIO()
        drawing.savefig(text, format="svg", metadata={"Date": None})
        return text.getvalue()
