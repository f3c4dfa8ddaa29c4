from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from testbed.bench.peers.plot import write_plot
from testbed.bench.peers.summary import figures_of
from tests.support.peer_samples import samples


def _words(path: Path) -> list[str]:
    return [
        "".join(item.itertext()).strip()
        for item in ElementTree.parse(path).iter()
        if item.tag.rpartition("}")[2] == "text"
    ]


def test_the_plot_names_axes_cases_subjects_and_values(tmp_path: Path) -> None:
    write_plot(figures_of(samples("gloo")), "2 x a processor", tmp_path / "deep" / "plot.svg")
    words = _words(tmp_path / "deep" / "plot.svg")
    assert "time / (M/B)" in words
    assert "all-reduce of 16 MB float32 over links of 100 Mbit/s" in words
    assert {"N=4, 0% loss", "N=4, 1% loss", "N=8, 0% loss", "N=8, 1% loss"} <= set(words)
    assert {"openmpi", "ring", "ring-irn", "netreduce", "netreduce-irn"} <= set(words)
    assert "gloo" not in words
    assert "2 x a processor" in words
    assert words.count("5.00") == 4, "the bars of netreduce say their value"


def test_the_same_figures_make_the_same_file(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        write_plot(figures_of(samples()), "a machine", tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
