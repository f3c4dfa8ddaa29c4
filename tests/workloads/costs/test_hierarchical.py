"""FR, TA and PN: the rows of the specification, the oracle table, and what must hold between them."""

import csv

import pytest

from workloads.costs import MACHINE_COSTS, EqualMachines, machine_cost
from workloads.costs.hierarchical import netreduce_rack, parallel_netreduce
from workloads.errors import ScenarioError

GB = 8e9
"""bits per second of a gigabyte per second"""
# Protocol text, section 9: n = 8, B_inter 12.5 GB/s, 100 MB; (B_intra, P): ms of FR, TA, PN at alpha 1 us, then at 100
# us.
TABLE = {
    (15.75, 32): ((15.56, 24.70, 19.11), (21.70, 25.30, 19.31)),
    (15.75, 128): ((16.13, 27.73, 19.11), (41.28, 30.70, 19.31)),
    (15.75, 512): ((16.99, 28.57, 19.11), (118.17, 41.05, 19.31)),
    (15.75, 1024): ((18.03, 28.83, 19.11), (220.58, 53.97, 19.31)),
    (25, 32): ((15.56, 20.01, 15.00), (21.70, 20.60, 15.20)),
    (25, 1024): ((18.03, 24.13, 15.00), (220.58, 49.28, 15.20)),
    (50, 32): ((15.56, 16.01, 11.50), (21.70, 16.60, 11.70)),
    (50, 1024): ((18.03, 20.13, 11.50), (220.58, 45.28, 11.70)),
    (100, 32): ((15.56, 14.01, 9.75), (21.70, 14.60, 9.95)),
    (100, 1024): ((18.03, 18.13, 9.75), (220.58, 43.28, 9.95)),
}


def machines(gpus, intra, alpha_s, **more):
    return EqualMachines(gpus, 8, 12.5 * GB, intra * GB, alpha_s, **more)


@pytest.mark.parametrize(("intra", "gpus"), TABLE)
def test_the_table_of_the_text(intra, gpus):
    for alpha_s, expected in zip((1e-6, 100e-6), TABLE[intra, gpus], strict=True):
        found = [machine_cost(name).seconds(machines(gpus, intra, alpha_s), 100e6) * 1e3 for name in ("FR", "TA", "PN")]
        assert found == pytest.approx(expected, abs=0.00501)


def test_the_oracle(oracles):
    rows = list(csv.DictReader((oracles / "hierarchical_cost.csv").open()))
    assert len(rows) == 128
    for row in rows:
        place = EqualMachines(
            int(row["P"]), int(row["n"]), float(row["B_inter_GBps"]) * GB, float(row["B_intra_GBps"]) * GB,
            float(row["alpha_us"]) * 1e-6,
        )  # fmt: skip
        found = {name: cost.seconds(place, float(row["M_MB"]) * 1e6) * 1e6 for name, cost in MACHINE_COSTS.items()}
        for name, value in found.items():
            assert abs(value - float(row[f"T_{name}_us"])) <= 0.001, row
        assert found["FR"] / found["PN"] == pytest.approx(float(row["FR_over_PN"]), abs=0.000051)
        assert found["TA"] / found["PN"] == pytest.approx(float(row["TA_over_PN"]), abs=0.000051)
        assert min(found, key=found.__getitem__) == row["best"]


def test_latencies_of_their_own():
    place = machines(32, 25, 1e-6, inner_alpha_s=3e-6, switch_alpha_s=50e-6)
    plain = machines(32, 25, 1e-6)
    for name, more in {"FR": 0, "TA": 2 * 7 * 3e-6, "PN": 2 * 7 * 3e-6 + 50e-6 - 2e-6}.items():
        cost = machine_cost(name).seconds
        assert cost(place, 1e6) - cost(plain, 1e6) == pytest.approx(more, abs=1e-12)


def test_one_gpu_per_machine_is_the_rack_level():
    place = EqualMachines(8, 1, GB, GB, 1e-6)
    assert parallel_netreduce(place, 1e6) == netreduce_rack(place, 1e6) == pytest.approx(2e-6 + 1e-3)


def test_parallel_netreduce_beats_tencent_from_two_machines_on():
    for gpus in (16, 64, 4096):
        for intra in (12.5, 20, 1000):
            for alpha_s in (0, 1e-7, 1e-3):
                for size in (1, 1e6, 1e9):
                    place = machines(gpus, intra, alpha_s)
                    assert machine_cost("PN").seconds(place, size) < machine_cost("TA").seconds(place, size)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((30, 8, 1e9, 2e9, 0), ("scenario: gpus: the GPUs do not fill the machines; found 30 in machines of 8; "
                                "allowed: "
                               "a multiple of 8")),
        ((32, 8, 0, 1e9, 0), "scenario: bandwidth_bps: out of range; found 0; allowed: more than 0"),
    ],
)  # fmt: skip
def test_machines_that_cannot_be(arguments, text):
    with pytest.raises(ScenarioError) as caught:
        EqualMachines(*arguments)
    assert str(caught.value) == text
