"""Pictures of small networks, word by word. After a deliberate change: UPDATE_GOLDEN=1 ./tb test tests/testbed/drawing,
look at the SVG files, and read the diff."""

from __future__ import annotations

import itertools
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from testbed.drawing import draw_dot, draw_mermaid, draw_svg, picture_of
from testbed.drawing.layout import NODE_HEIGHT, NODE_WIDTH, place
from testbed.drawing.svg import COLOURS
from testbed.scenario import Scenario, builtin_names, load_scenario, parse_scenario
from testbed.scenario.protocols.names import NODE_ROLES

_GOLDEN = Path(__file__).parent / "golden"
_HEAD = "name: small\nswitch: {program: forward}\njob: {protocol: ring, size: 4kB}\ntopology: "
_SMALL = {
    "rack": "{kind: rack, hosts: 2, link: {delay: 1ms}}",
    "spine-leaf": "{kind: spine_leaf, leaves: 2, spines: 2, hosts_per_leaf: [2, 1], oversubscription: 4, "
    "links: {h2-leaf1: {delay: 1ms, jitter: 200us}}}",
    "custom": "{kind: custom, nodes: [{name: end, role: host}, {name: a, role: leaf}, {name: b, role: leaf}, "
    "{name: c, role: leaf}, {name: h2, role: host}, {name: h3, role: host}, {name: top, role: core}], links: [{ends: "
    "[end, a]}, "
    "{ends: [h2, b]}, {ends: [h3, c]}, {ends: [a, b]}, {ends: [b, c]}, {ends: [c, a], rate: 1Mbps}, {ends: [top, b]}]}",
}
_DRAW = {"svg": draw_svg, "dot": draw_dot, "mmd": draw_mermaid}


def small(name: str) -> Scenario:
    return parse_scenario(_HEAD + _SMALL[name], "small.yaml")


@pytest.mark.parametrize("suffix", _DRAW)
@pytest.mark.parametrize("name", _SMALL)
def test_small_networks(name: str, suffix: str) -> None:
    text = _DRAW[suffix](picture_of(small(name)))
    golden = _GOLDEN / f"{name}.{suffix}"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_the_picture_tells_roles_ranks_and_what_is_unusual() -> None:
    picture = picture_of(small("spine-leaf"))
    assert picture.title == "small: spine_leaf, 3 hosts, 4 switches; ring"
    assert [(point.name, point.detail, point.tier) for point in picture.points] == [
        ("h1", "rank 0", 0), ("h2", "rank 1", 0), ("h3", "rank 2", 0),
        ("leaf1", "leaf", 1), ("leaf2", "leaf", 1), ("spine1", "spine", 2), ("spine2", "spine", 2),
    ]  # fmt: skip
    assert picture.bands == ((0, 1, "100Mbps"), (1, 2, "25Mbps"))
    assert [(line.a, line.label) for line in picture.lines if not line.usual] == [
        ("h2", "100Mbps, 1ms ± 200us"), ("leaf2", "12500kbps"), ("leaf2", "12500kbps"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "topology",
    [
        *_SMALL.values(),
        "{kind: fat_tree, k: 4}",
        "{kind: spine_leaf, leaves: 8, spines: 2, hosts_per_leaf: 1}",
        "{kind: spine_leaf, leaves: 2, spines: 9, hosts_per_leaf: [1, 30]}",
    ],
)
def test_no_two_nodes_overlap_and_upper_tiers_stand_higher(topology: str) -> None:
    picture = picture_of(parse_scenario(_HEAD + topology, "x.yaml"))
    spots = place(picture)
    assert min(x for x, _ in spots.values()) == min(y for _, y in spots.values()) == 0
    for (x1, y1), (x2, y2) in itertools.combinations(spots.values(), 2):
        assert abs(x1 - x2) >= NODE_WIDTH or abs(y1 - y2) >= NODE_HEIGHT
    tier = {point.name: point.tier for point in picture.points}
    assert all((tier[a] < tier[b]) == (spots[a][1] > spots[b][1]) for a, b in itertools.permutations(spots, 2))


def test_hosts_of_one_switch_stand_side_by_side() -> None:
    nodes = (
        "[{name: a, role: host}, {name: b, role: host}, {name: c, role: host}, {name: s, role: leaf}, {name: t, role: "
        "leaf}]"
    )
    links = "[{ends: [a, s]}, {ends: [b, t]}, {ends: [c, s]}, {ends: [s, t]}]"
    spots = place(picture_of(parse_scenario(f"{_HEAD}{{kind: custom, nodes: {nodes}, links: {links}}}", "x.yaml")))
    assert spots["a"][0] < spots["c"][0] < spots["b"][0]


def texts_of(root: ElementTree.Element) -> Iterator[tuple[float, float, str]]:
    """Both ends of each text, with about 7.5 pixels for a character (the title's are larger), and what it says."""
    for element in root.iter("{http://www.w3.org/2000/svg}text"):
        words, kind = element.text or "", element.get("class", "")
        size, x, y = (
            len(words) * (9 if kind == "title" else 7.5),
            float(element.attrib["x"]),
            float(element.attrib["y"]),
        )
        left = x if kind in ("title", "band") else x - size / 2
        yield left, y, words
        yield left + size, y, words


def level(d: str) -> bool:
    """A link within a row goes through its own ends."""
    _, y1, _, y2 = (float(number) for number in re.findall(r"[0-9.]+", d))
    return y1 == y2


def crosses(d: str, box: Mapping[str, str]) -> bool:
    """Whether a straight line goes through the inside of a box."""
    x1, y1, x2, y2 = (float(number) for number in re.findall(r"[0-9.]+", d))
    left, top = float(box["x"]), float(box["y"])
    points = ((x1 + part / 200 * (x2 - x1), y1 + part / 200 * (y2 - y1)) for part in range(201))
    return any(left + 1 < x < left + NODE_WIDTH - 1 and top + 1 < y < top + NODE_HEIGHT - 1 for x, y in points)


@pytest.mark.parametrize("name", [name for name in builtin_names() if "ring" in name or name.startswith("rack")])
def test_every_node_and_link_is_drawn_within_the_frame(name: str) -> None:
    scenario = load_scenario(name)
    text = draw_svg(picture_of(scenario))
    root = ElementTree.fromstring(text)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    boxes = [box.attrib for box in root.iter("{http://www.w3.org/2000/svg}rect")][1:]
    assert len(boxes) == len(scenario.topology.nodes)
    for box in boxes:
        assert 0 < float(box["x"]) < width - NODE_WIDTH
        assert 0 < float(box["y"]) < height - NODE_HEIGHT
    paths = [path.attrib["d"] for path in root.iter("{http://www.w3.org/2000/svg}path")]
    assert len(paths) == len(scenario.topology.links)
    for x, y, words in texts_of(root):
        assert 0 < x < width, words
        assert 0 < y < height, words
    for d in paths:
        if "L" in d and not level(d):
            assert not any(crosses(d, box) for box in boxes), d
    assert not re.search(r"(?:href|src|url)\W", text)


def test_every_role_has_a_colour() -> None:
    """Those that a custom topology may give, and those of the network with an accelerator."""
    assert set(COLOURS) == {*NODE_ROLES, "commodity", "accelerator"}


def test_every_built_in_network_has_its_colours() -> None:
    parts = {point.part for name in builtin_names() for point in picture_of(load_scenario(name)).points}
    assert parts - set(COLOURS) == set()
