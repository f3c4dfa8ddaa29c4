"""Flat cost models: the rows of the specification, the oracle table, and their shapes."""

import csv
import re

import pytest

from workloads.costs import FLAT_COSTS, flat_cost, sent_bytes
from workloads.costs.flat import torus2d, torus_shape
from workloads.costs.hierarchical import hier_ina, hier_ring
from workloads.errors import ScenarioError

GBPS = 1e9
# Routing-and-jobs text, section 8: N = 8, 10 Gb/s, alpha 5 us; hier_*: inside ten times the rate, m = 4, H = 2.
TABLE = {
    "ring": (140.07, 71.43),
    "rabenseifner": (140.03, 31.43),
    "recursive_doubling": (240.015, 17.46),
    "binomial_tree": (480.03, 34.92),
    "torus2d": (140.04, 41.43),
    "sharded_ps": (140.01, 11.43),
    "ina": (80.01, 10.82),
    "ps": (1280.01, 23.11),
    "ps_multicast": (720.01, 17.37),
    "ps_ina_up": (720.01, 17.37),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_table_of_the_text(name):
    large_ms, small_us = TABLE[name]
    seconds = flat_cost(name).seconds
    assert seconds(8, 100e6, 10 * GBPS, 5e-6) * 1e3 == pytest.approx(large_ms, abs=0.0051)
    assert seconds(8, 1024, 10 * GBPS, 5e-6) * 1e6 == pytest.approx(small_us, abs=0.0051)


@pytest.mark.parametrize("model", [hier_ring, hier_ina])
def test_the_hierarchical_rows_of_the_text(model):
    assert model(4, 2, 100e6, 10 * GBPS, 5e-6, 100 * GBPS, 5e-6) * 1e3 == pytest.approx(32.04, abs=0.0051)
    assert model(4, 2, 1024, 10 * GBPS, 5e-6, 100 * GBPS, 5e-6) * 1e6 == pytest.approx(40.33, abs=0.0051)


def test_the_oracle(oracles):
    rows = list(csv.DictReader((oracles / "collectives.csv").open()))
    assert len(rows) > 1000
    for row in rows:
        point = float(row["bytes"]), float(row["bandwidth_bps"]), float(row["alpha_s"])
        given = dict(re.findall(r"(\w+)=([^;]+)", row["params"]))
        if row["algorithm"].startswith("hier_"):
            model = hier_ring if row["algorithm"] == "hier_ring" else hier_ina
            inner = float(given["intra_bw"]), float(given["intra_alpha"])
            found = model(int(given["m"]), int(given["H"]), *point, *inner)
        elif row["algorithm"] == "torus2d":
            assert torus_shape(int(row["N"])) == (int(given["X"]), int(given["Y"]))
            found = torus2d(int(row["N"]), *point, shape=(int(given["X"]), int(given["Y"])))
        else:
            found = flat_cost(row["algorithm"]).seconds(int(row["N"]), *point)
        assert found == pytest.approx(float(row["seconds"]), rel=1e-8), row


@pytest.mark.parametrize("ranks", [3, 6, 12, 48, 100])
@pytest.mark.parametrize("name", FLAT_COSTS)
def test_any_number_of_ranks_but_powers_of_two_where_halves_are_exchanged(name, ranks):
    if FLAT_COSTS[name].power_of_two:
        with pytest.raises(
            ScenarioError, match=f"^scenario: ranks: {name} needs a power of two of ranks; found {ranks};"
        ):
            flat_cost(name).seconds(ranks, 1e6, GBPS, 1e-6)
        with pytest.raises(ScenarioError, match="power of two"):
            sent_bytes(name, ranks, 1e6)
    else:
        assert flat_cost(name).seconds(ranks, 1e6, GBPS, 1e-6) > 0


def test_ceiling_of_the_tree():
    """Five ranks need three rounds up and three down."""
    assert flat_cost("tree").seconds(5, 1e6, 8e6, 0.5) == pytest.approx(2 * 3 * 1.5)


@pytest.mark.parametrize(("ranks", "gain"), [(4, 1.5), (8, 1.75), (64, 1.96875)])
def test_the_ring_costs_at_most_twice_the_aggregation(ranks, gain):
    ring, ina = flat_cost("ring").seconds, flat_cost("ina").seconds
    assert ring(ranks, 1e15, GBPS, 1e-6) / ina(ranks, 1e15, GBPS, 1e-6) == pytest.approx(gain, rel=1e-6)
    assert ina(ranks, 1, GBPS, 1e-6) < ring(ranks, 1, GBPS, 1e-6)


def test_aggregation_between_hosts_pays_from_three_hosts_on():
    times = [[model(4, hosts, 1e8, GBPS, 5e-6, 10 * GBPS, 5e-6) for model in (hier_ring, hier_ina)] for hosts in (2, 3)]
    assert times[0][0] == pytest.approx(times[0][1])
    assert times[1][1] < times[1][0]


@pytest.mark.parametrize(
    ("name", "sent"),
    [("ring", 14), ("rabenseifner", 14), ("recursive_doubling", 24), ("ina", 8), ("binomial_tree", 24)],
)
def test_bytes_per_rank(name, sent):
    assert sent_bytes(name, 8, 8) == sent


def test_a_double_binary_tree_has_a_byte_bound_and_no_time():
    assert sent_bytes("double_binary_tree", 8, 100) == 200
    assert "double_binary_tree" not in FLAT_COSTS


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((1, 1e6, GBPS, 0), "scenario: ranks: too few ranks; found 1; allowed: at least 2"),
        ((4, -1, GBPS, 0), "scenario: size_bytes: out of range; found -1; allowed: 0 or more"),
        ((4, 1e6, 0, 0), "scenario: bandwidth_bps: out of range; found 0; allowed: more than 0"),
        ((4, 1e6, GBPS, float("nan")), "scenario: alpha_s: out of range; found nan; allowed: 0 or more"),
    ],
)
def test_arguments_out_of_range(arguments, text):
    with pytest.raises(ScenarioError) as caught:
        flat_cost("ring").seconds(*arguments)
    assert str(caught.value) == text


def test_unknown_names_get_the_closest():
    with pytest.raises(ScenarioError, match=r"found 'rign'; allowed: ring, .*; did you mean 'ring'\?$"):
        flat_cost("rign")
    with pytest.raises(ScenarioError, match="shape: does not hold all ranks; found 3 x 2; allowed: X x Y = 8"):
        torus2d(8, 1e6, GBPS, 0, shape=(3, 2))
