"""Recipes for datagram protocols: who forgets what, and that nothing stays broken."""

from __future__ import annotations

from random import Random

import pytest

from testbed.faults.healing import heals_at
from testbed.faults.model import Kill
from testbed.hunt.datagram_recipes import datagram_recipes
from testbed.hunt.expected import excused
from testbed.hunt.protocols import PROTOCOLS
from testbed.hunt.survival_datagrams import must_end_ns
from testbed.plan import make_plan
from tests.testbed.hunt.test_survival_datagrams import atp, calm

CALM = {"switchml": calm(), "atp": atp(leaves=True), "esa": atp(kind="esa")}
FORGETFUL = {
    "switchml": [{"s1"}, {"s1"}],
    "atp": [{"leaf1", "leaf2", "spine1"}, {"leaf1", "leaf2", "spine1"}, {"h3", "h6"}],
    "esa": [{"s1"}, {"s1"}, {"h3", "h6"}],
}


@pytest.mark.parametrize("kind", FORGETFUL)
def test_each_recipe_lets_one_kind_of_node_start_anew(kind):
    recipes = datagram_recipes(PROTOCOLS[kind])
    for recipe, nodes in zip(recipes, FORGETFUL[kind], strict=True):
        drawn = [recipe(Random(seed), CALM[kind]) for seed in range(40)]
        kills = [fault for scenario in drawn for fault in scenario.faults if isinstance(fault, Kill)]
        assert {kill.node for kill in kills} == nodes
        assert len(kills) == 40
        assert all(heals_at(kill) for kill in kills)
        assert all(must_end_ns(scenario) for scenario in drawn)
        assert all(bool(excused(make_plan(scenario))) == (kind == "switchml") for scenario in drawn)
