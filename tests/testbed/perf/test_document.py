"""The JSON of nccl-tests, version 3."""

from __future__ import annotations

import json

from testbed.perf.document import perf_json


def document(asked, rows):
    text = perf_json(*asked, {"ring": rows}, args=("tb", "perf"), began="then", ended="now")
    return json.loads(text)


def test_the_keys_of_nccl_tests_are_there(asked, rows):
    found = document(asked, rows)
    assert (found["version"], found["start_time"], found["end_time"], found["args"]) == (
        3,
        "then",
        "now",
        ["tb", "perf"],
    )
    config = found["config"]
    assert (config["minimum_bytes"], config["maximum_bytes"], config["step_factor"]) == (4000, 8000, 2)
    assert (config["iterations"], config["warmup_iters"], config["ngpus"]) == (2, 1, 1)
    first, second = found["results"]
    assert {key: first[key] for key in ("size", "count", "type", "redop", "root")} == {
        "size": 4000, "count": 1000, "type": "float", "redop": "sum", "root": "-1",
    }  # fmt: skip
    assert first["out_of_place"] == {"time": 2.0, "alg_bw": 2.0, "bus_bw": 3.0, "nwrong": 0.0}
    assert first["in_place"]["nwrong"] is None
    assert second["in_place"] is None
    assert found["out_of_bounds"] == {"count": 1, "okay": False}
    assert found["average_bus_bandwidth"]["okay"] == "unchecked"
    assert found["protocols"]["ring"]["out_of_bounds"]["count"] == 1


def test_figures_and_iterations_are_there(asked, rows):
    first = document(asked, rows)["results"][0]
    assert first["actual_iterations"] == 2
    assert first["protocol"] == "ring"
    assert first["out_of_place_run"]["figures"]["algbw_bps"] == 8e9
    each = first["out_of_place_per_iter"]
    assert (each["min_us"], each["p50_us"], each["p99_us"], each["times_us"]) == (1.0, 1.0, 3.0, [1.0, 3.0])
    assert (round(each["stdev_us"], 9), round(each["cv_pct"], 9)) == (1.0, 50.0)
    assert first["in_place_run"]["reason"] == "bit_exact: 1 of 8 results differ"
