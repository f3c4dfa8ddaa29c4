"""Each code encodes, repairs and decodes; the vectors and the table of the oracle."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workloads.codes import create_code, problem_of
from workloads.codes.bounds import RepairCost, mbr_cost, msr_cost, rs_cost
from workloads.codes.linear import LinearCode
from workloads.codes.product_matrix import msr_points

CODES = [
    ("rs", 4, 2, 2), ("rs", 6, 4, 4), ("rs", 5, 4, 4), ("rs", 8, 5, 5), ("rs", 4, 1, 1), ("rs", 14, 10, 10),
    ("mbr", 4, 2, 3), ("mbr", 5, 3, 3), ("mbr", 6, 3, 4), ("mbr", 4, 1, 2), ("mbr", 9, 6, 8),
    ("msr", 4, 2, 2), ("msr", 4, 2, 3), ("msr", 5, 3, 4), ("msr", 6, 3, 5), ("msr", 7, 3, 6),
]  # fmt: skip


@pytest.fixture(scope="module")
def oracle(oracles: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((oracles / "codes.json").read_text())
    return found


def stored_by(code: LinearCode, size: int = 6) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    file = np.random.default_rng(code.n).integers(0, 256, (code.file_symbols, size), np.uint8)
    return file, code.encode(file)


@pytest.mark.parametrize("parameters", CODES)
def test_any_k_nodes_have_the_file(parameters: tuple[str, int, int, int]) -> None:
    code = create_code(*parameters)
    file, stored = stored_by(code)
    for nodes in combinations(range(code.n), code.k):
        assert (code.decode(nodes, stored[list(nodes)]) == file).all(), nodes


@pytest.mark.parametrize("parameters", CODES)
def test_any_d_nodes_repair_any_other(parameters: tuple[str, int, int, int]) -> None:
    code = create_code(*parameters)
    file, stored = stored_by(code)
    for lost in range(code.n):
        assert (code.store(file, lost) == stored[lost]).all()
        for donors in combinations([node for node in range(code.n) if node != lost], code.d):
            symbols = np.array([code.donate(lost, stored[node]) for node in donors])
            assert symbols.shape == (code.d, file.shape[1]), "one symbol each"
            assert (code.repair(lost, donors, symbols) == stored[lost]).all(), (lost, donors)


@pytest.mark.parametrize("parameters", CODES)
def test_what_codes_cost_is_the_bound(parameters: tuple[str, int, int, int]) -> None:
    """Symbols are counted, the file being as many as it is."""
    name, _, k, d = parameters
    code = create_code(*parameters)
    file = Fraction(code.file_symbols)
    cost = {"rs": rs_cost(k, file, combined=False), "msr": msr_cost(k, d, file), "mbr": mbr_cost(k, d, file)}[name]
    assert (cost.alpha, cost.beta, cost.ingress) == (code.alpha, 1, d)


def test_codes_that_store_the_file_as_it_is() -> None:
    for parameters in (("rs", 6, 4, 4), ("msr", 5, 3, 4), ("msr", 6, 3, 5)):
        code = create_code(*parameters)
        file, stored = stored_by(code)
        assert (stored[: code.k].reshape(file.shape) == file).all()


def cut_set(k: int, d: int, cost: RepairCost) -> Fraction:
    return sum((min(cost.alpha, (d - i) * cost.beta) for i in range(k)), Fraction(0))


def test_the_table_of_costs(oracle: dict[str, Any]) -> None:
    for row in oracle["parameters"]:
        k, d, file = row["k"], row["d"], Fraction(row["M"])
        for name, cost in (("msr", msr_cost(k, d, file)), ("mbr", mbr_cost(k, d, file))):
            told = {word: Fraction(row[name][word]) for word in ("alpha", "beta", "gamma")}
            assert (cost.alpha, cost.beta, cost.ingress) == (told["alpha"], told["beta"], told["gamma"])
            assert cut_set(k, d, cost) == file
        plain, combined = rs_cost(k, file, combined=False), rs_cost(k, file, combined=True)
        assert plain.ingress == Fraction(row["rs_naive_gamma"])
        assert combined.ingress == Fraction(row["rs_ina_newcomer_ingress"])
        assert combined.egress == Fraction(row["rs_ina_donor_egress_total"])


def test_the_stripe_of_the_oracle(oracle: dict[str, Any]) -> None:
    given, code = oracle["gf256"], create_code("rs", 6, 4, 4)
    blocks = [bytes.fromhex(block) for block in given["d"]]
    assert blocks == [bytes((37 * i + 11 * j + 5) % 256 for j in range(16)) for i in range(4)]
    stored = code.encode(np.array([list(block) for block in blocks], np.uint8))
    assert stored[4].tobytes().hex() == given["P"]
    assert stored[5].tobytes().hex() == given["Q"]
    nodes = {"d0": 0, "d2": 2, "d3": 3, "P": 4, "Q": 5}
    for case in (given["repair_d1_via_P"], given["repair_d1_via_Q"]):
        donors = [nodes[name] for name in case["coef"]]
        assert code.repair_matrix(1, donors).tolist() == [list(case["coef"].values())]
        symbols = np.array([code.donate(1, stored[node]) for node in donors])
        assert code.repair(1, donors, symbols).tobytes().hex() == case["result"]


def test_the_product_matrix_of_the_oracle(oracle: dict[str, Any]) -> None:
    given = oracle["product_matrix_mbr"]
    code = create_code("mbr", given["n"], given["k"], given["d"])
    stored = code.encode(np.array(given["message_symbols"], np.uint8)[:, None])
    assert stored[:, :, 0].tolist() == given["node_contents"]
    lost, donors = given["failed_node"], given["donors"]
    symbols = np.array([code.donate(lost, stored[node]) for node in donors])
    assert symbols[:, 0].tolist() == given["donor_symbols"]
    assert code.repair(lost, donors, symbols)[:, 0].tolist() == given["repaired"]


@pytest.mark.parametrize(
    ("parameters", "key"),
    [
        (("rs", 4, 4, 4), "k"), (("rs", 6, 4, 5), "d"), (("mbr", 4, 3, 2), "d"), (("mbr", 4, 2, 4), "d"),
        (("msr", 4, 1, 2), "k"), (("msr", 14, 10, 13), "d"), (("msr", 90, 4, 6), "n"),
    ],
)  # fmt: skip
def test_codes_that_cannot_be_say_why(parameters: tuple[str, int, int, int], key: str) -> None:
    problem = problem_of(*parameters)
    assert problem is not None
    assert problem[0] == key
    with pytest.raises(ValueError, match="allowed"):
        create_code(*parameters)


def test_the_largest_msr_code_has_as_many_points_as_it_is_told() -> None:
    problem = problem_of("msr", 90, 4, 6)
    assert problem is not None
    most = int(problem[2].split()[-1])
    assert most == 85 == len(msr_points(255, 3)), "255 elements have a third as many cubes"
    assert problem_of("msr", most, 4, 6) is None
    assert problem_of("msr", most, 4, 7) is None, "fourth powers differ"


def test_other_nodes_than_a_repair_needs_are_refused() -> None:
    code = create_code("mbr", 5, 2, 3)
    for donors in ([1, 2], [1, 2, 2], [0, 1, 2]):
        with pytest.raises(ValueError, match="repaired by 3 others"):
            code.repair_matrix(0, donors)
    with pytest.raises(ValueError, match="2 different nodes"):
        code.decode([1, 1], np.zeros((2, 3, 4), np.uint8))
