from __future__ import annotations

import re
from pathlib import Path

import pytest

from testbed.cli import main


@pytest.mark.parametrize(
    ("words", "begin"),
    [
        ([], "<svg "),
        (["--format", "dot"], "graph "),
        (["--format", "mermaid"], "---\n"),
        (["--format", "svg"], "<svg "),
    ],
)
def test_formats(words: list[str], begin: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "ring", *words]) == 0
    assert capsys.readouterr().out.startswith(begin)


@pytest.mark.parametrize(
    ("name", "words", "begin"),
    [
        ("x.svg", [], "<svg "),
        ("x.dot", [], "graph "),
        ("x.mmd", [], "---\n"),
        ("x", [], "<svg "),
        ("x.svg", ["--format", "dot"], "graph "),
    ],
)
def test_the_name_of_the_file_says_the_format(name: str, words: list[str], begin: str, tmp_path: Path) -> None:
    assert main(["graph", "ring", "--out", str(tmp_path / name), *words]) == 0
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(begin)


def test_changes_are_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "fat-tree-ring", "--set", "topology.k=2", "--format", "dot"]) == 0
    out = capsys.readouterr().out
    assert "2 hosts, 5 switches" in out
    assert out.count(" -- ") == 6


def test_a_file_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "absent" / "x.svg"
    assert main(["graph", "ring", "--out", str(out)]) == 64
    assert capsys.readouterr().err == (
        f"tb: {out}: --out: cannot be written; found No such file or directory; allowed: a file in a folder that is "
        "there\n"
    )


def test_a_bad_scenario_is_not_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "fat-tree-ring", "--set", "topology.k=3"]) == 64
    assert (
        capsys.readouterr().err
        == "tb: --set: topology.k: an odd number; found 3; allowed: an even number from 2 to 16\n"
    )


def test_topologies_are_listed_with_their_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "topologies"]) == 0
    told = re.sub(r"\n +", " ", capsys.readouterr().out)  # sentences are folded
    rows = {line.split()[0]: line.rsplit("keys: ")[1] for line in told.splitlines()}
    assert rows == {
        "rack": "hosts, link, links",
        "rack_accelerator": "hosts, accelerator_ports, link, accelerator_link, links",
        "spine_leaf": "leaves, spines, hosts_per_leaf, oversubscription, multipath, link, uplink, links",
        "fat_tree": "k, multipath, link, uplink, core, links",
        "machines": "machines, workers_per_machine, link, uplink, links",
        "grid_triangle": "link, server_link, links",
        "custom": "nodes, links, link",
    }
