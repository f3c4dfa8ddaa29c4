from __future__ import annotations

import pytest

from topologies import Cable, LinkShape, Topology, assemble, fat_tree, host, spine_leaf, switch
from topologies.routing import component, next_hops, tiers

SHAPE = LinkShape()


def walk(topology: Topology, source: str, destination: str) -> set[tuple[str, ...]]:
    """All paths that the tables allow."""
    table = next_hops(topology)
    (_, first, _), *_ = topology.ports(source)
    paths, done = [(source, first.b if first.a == source else first.a)], set()
    while paths:
        path = paths.pop()
        if path[-1] == destination:
            done.add(path)
            continue
        assert len(set(path)) == len(path), f"a loop: {path}"
        out = table[path[-1], destination]
        for port, link, _ in topology.ports(path[-1]):
            if port in out:
                paths.append((*path, link.b if link.a == path[-1] else link.a))
    return done


def test_spine_leaf_uses_every_spine_between_racks_and_none_inside() -> None:
    topology = spine_leaf([2, 2], 3, SHAPE)
    assert walk(topology, "h1", "h2") == {("h1", "leaf1", "h2")}
    assert walk(topology, "h1", "h3") == {("h1", "leaf1", f"spine{n}", "leaf2", "h3") for n in (1, 2, 3)}
    assert next_hops(topology)["spine2", "h3"] == (1,)


@pytest.mark.parametrize(("peer", "paths", "links"), [("h2", 1, 2), ("h3", 2, 4), ("h16", 4, 6)])
def test_fat_tree_has_k_half_paths_in_a_pod_and_their_square_between_pods(peer: str, paths: int, links: int) -> None:
    found = walk(fat_tree(4, SHAPE), "h1", peer)
    assert len(found) == paths
    assert {len(path) - 1 for path in found} == {links}


def test_hosts_are_never_on_the_way() -> None:
    """h1 has links to both switches, and they have none to each other."""
    nodes = (host(1), host(2), switch("s1"), switch("s2"))
    topology = assemble("test", nodes, [Cable("h1", "s1", SHAPE), Cable("h1", "s2", SHAPE), Cable("h2", "s2", SHAPE)])
    assert ("s1", "h2") not in next_hops(topology)
    assert component(topology, "s1") == {"s1", "h1"}


def test_tiers_count_from_the_nearest_host() -> None:
    nodes = (host(1), switch("s1"), switch("s2"), switch("alone"))
    topology = assemble("test", nodes, [Cable("h1", "s1", SHAPE), Cable("s1", "s2", SHAPE)])
    assert tiers(topology) == {"h1": 0, "s1": 1, "s2": 2}
