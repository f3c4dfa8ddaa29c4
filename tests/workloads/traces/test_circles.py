"""Dependencies without circles."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from workloads.traces.circles import without_circles


def test_a_control_dependency_in_a_circle_is_left_out() -> None:
    assert without_circles([[], [0]], [[1], []]) == [(), (0,)]
    assert without_circles([[]], [[0]]) == [()]


def test_others_stay() -> None:
    assert without_circles([[], [0], [1]], [[], [], [0]]) == [(), (0,), (1, 0)]


def test_a_circle_of_data_stays() -> None:
    assert without_circles([[1], [0]], [[], []]) == [(1,), (0,)]


@given(st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=10, max_size=10), st.data())
def test_no_circle_has_a_control_dependency(control: list[list[int]], data: st.DataObject) -> None:
    given_data = [data.draw(st.lists(st.integers(0, node - 1), max_size=2)) if node else [] for node in range(10)]
    found = without_circles(given_data, control)
    graph = nx.DiGraph([(other, node) for node, own in enumerate(found) for other in own])
    assert nx.is_directed_acyclic_graph(graph)
    whole = nx.DiGraph([(o, n) for n in range(10) for o in (*given_data[n], *control[n])])
    for node in range(10):
        assert set(given_data[node]) <= set(found[node])
        for other in set(control[node]) - set(found[node]):
            assert other == node or nx.has_path(whole, node, other)
