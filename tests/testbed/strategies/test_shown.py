from __future__ import annotations

import csv
import io
import json
from xml.etree import ElementTree

import pytest

from testbed.strategies.measure import Measured, MeasuredFabric
from testbed.strategies.plot import plot_svg
from testbed.strategies.shown import StrategyRow, StrategyRows, to_csv, to_json
from workloads.strategies import Chain, Operator, StrategyPoint, frontier, price_of
from workloads.strategies.costs import Devices

CHAIN = Chain("mine", (Operator("a", 100, 10, 10**9), Operator("b", 10, 400, 10**9)))
DEVICES = Devices(2, 100.0)


def rows(*verdicts: str) -> StrategyRows:
    """The frontier of two, and DP for both."""
    points = [*frontier(CHAIN, DEVICES), StrategyPoint(("DP", "DP"), price_of(CHAIN, ("DP", "DP"), DEVICES))]
    found = [Measured(2 * p.price.time_s if v == "pass" else None, v, "" if v == "pass" else "liveness: h2 waits")
             for p, v in zip(points, verdicts, strict=False)]  # fmt: skip
    return StrategyRows(
        CHAIN, DEVICES, tuple(
            StrategyRow(point, place < 2, found[place] if place < len(found) else None)
            for place, point in enumerate(points)
        ), MeasuredFabric("rack", ("seed=3",), "ring", 10) if verdicts else None,
    )  # fmt: skip


def test_the_table() -> None:
    assert list(rows().lines(80)) == [
        "mine: 2 operators, 110 bytes of weights, 2.00 s of computing on one device",
        "2 devices of 800 bit/s of payload each; an all-reduce sends 1 of a vector",
        "",
        "  strategy     memory       sent  predicted",
        "  MP, MP     55 bytes  410 bytes     5.10 s",
        "  MP, DP     60 bytes   25 bytes     1.25 s",
        "  DP, DP *  110 bytes  110 bytes     2.10 s",
        "",
        "* not on the frontier: another strategy needs no more memory and no more time",
    ]


def test_the_table_with_what_was_measured() -> None:
    lines = list(rows("pass", "pass", "fail").lines(80))
    assert "measured over rack in virtual time, all-reduce by ring, vectors divided by 10" in lines[2]
    assert lines[5].split() == ["MP,", "MP", "55", "bytes", "410", "bytes", "5.10", "s", "10.2", "s", "2.000", "pass"]
    assert lines[7].split()[-5:] == ["2.10", "s", "-", "-", "fail"]
    assert lines[-1] == "DP,DP: liveness: h2 waits"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_it_fits(width: int) -> None:
    long = Chain("c", tuple(Operator(f"o{n}", 1 + n % 3, 1 + n % 5) for n in range(40)))
    strategy = tuple("DP" if n % 2 else "MP" for n in range(40))
    many = StrategyRows(
        long, DEVICES, (StrategyRow(StrategyPoint(strategy, price_of(long, strategy, DEVICES)), is_best=True),)
    )
    table = list(many.lines(width))[3:]
    assert max(map(len, table)) <= width
    assert "".join(table).count("DP") >= 20


@pytest.mark.parametrize(
    ("verdicts", "code"), [((), 0), (("pass",), 0), (("unknown", "pass"), 2), (("unknown", "fail"), 1)]
)
def test_the_exit_code(verdicts: tuple[str, ...], code: int) -> None:
    assert rows(*verdicts).exit_code == code


def test_json_and_csv_say_the_same() -> None:
    document = json.loads(to_json(rows("pass", "fail")))
    assert (document["schema"], document["chain"], document["devices"]) == (2, "mine", 2)
    assert document["bandwidth_bytes_per_s"] == 100.0
    assert document["fabric"] == {"scenario": "rack", "set": ["seed=3"], "protocol": "ring", "divide": 10}
    assert document["operators"][1] == {
        "name": "b", "weights_bytes": 10, "activations_bytes": 400, "compute_s": 1.0
    }  # fmt: skip
    assert document["points"][0] == {
        "strategy": "MP,MP", "on_frontier": True, "memory_bytes": 55.0, "sent_bytes": 410.0, "predicted_s": 5.1,
        "measured_s": 10.2, "ratio": 2.0, "verdict": "pass",
    }  # fmt: skip
    lines = list(csv.DictReader(io.StringIO(to_csv(rows("pass", "fail")))))
    shown = [{key: "" if value is None else str(value) for key, value in row.items()} for row in document["points"]]
    assert lines == shown
    assert json.loads(to_json(rows()))["fabric"] is None


def test_the_plot_has_every_strategy_and_both_times() -> None:
    text = plot_svg(rows("pass", "pass", "pass"))
    ElementTree.fromstring(text)
    for word in ("MP,MP", "MP,DP", "DP,DP", "frontier, predicted", "measured in virtual time", "mine on 2 devices"):
        assert word in text
    assert "measured" not in plot_svg(rows())
