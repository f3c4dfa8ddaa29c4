from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from testbed.bench.peers.plot import plot_svg
from testbed.bench.peers.summary import figures_of
from tests.support.peer_samples import samples


def _words(drawing: str) -> list[str]:
    return [
        "".join(item.itertext()).strip()
        for item in ElementTree.fromstring(drawing).iter()
        if item.tag.rpartition("}")[2] == "text"
    ]


def test_the_plot_names_axes_cases_subjects_and_values() -> None:
    words = _words(plot_svg(figures_of(samples("gloo")), "2 x a processor"))
    assert "time / (M/B)" in words
    assert "all-reduce of 16 MB float32 over links of 100 Mbit/s" in words
    assert {"N=4, 0% loss", "N=4, 1% loss", "N=8, 0% loss", "N=8, 1% loss"} <= set(words)
    assert {"openmpi", "ring", "ring-irn", "netreduce", "netreduce-irn"} <= set(words)
    assert "gloo" not in words
    assert "2 x a processor" in words
    assert words.count("5.00") == 4, "the bars of netreduce say their value"


def test_the_same_figures_make_the_same_file() -> None:
    assert plot_svg(figures_of(samples()), "a machine") == plot_svg(figures_of(samples()), "a machine")
