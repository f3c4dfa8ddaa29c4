"""A guest with unmodified rdma_rxe endpoints, for a handful of the cases of `tb interop`."""

from __future__ import annotations

import os

import pytest

from testbed.interop.cases import choose_cases
from testbed.interop.image.prepare import default_work_folder, prepare_image
from testbed.interop.leg import LegResult, run_leg
from testbed.interop.packages import ensure_packages
from workloads.errors import HostCapabilityError

_CASES = (
    "shape/mtu-4096",
    "loss/middle",
    "chance/loss-1",
    "plain/shift",
    "mixed/half",
    "peer/loss-nak",
    "control/plain-switch",
    "control/float64-sums",
)

pytestmark = [
    pytest.mark.rxe,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to install and fetch what `tb interop` needs"),
]


@pytest.fixture(scope="module")
def result() -> LegResult:
    try:
        ensure_packages(print)
        prepare_image(default_work_folder(), print)
    except HostCapabilityError as error:
        pytest.skip(f"no guest here: {error}")
    return run_leg(choose_cases(_CASES), seed=2, say=print)


@pytest.mark.parametrize("case", _CASES)
def test_case(result: LegResult, case: str) -> None:
    (outcome,) = [one for one in result.outcomes if one.case == case]
    assert (str(outcome.verdict), outcome.detail if str(outcome.verdict) != "pass" else "") == ("pass", "")
    if case.startswith(("loss/", "chance/")):
        assert outcome.strikes
        assert outcome.traffic is not None
        assert outcome.traffic.retransmissions


def test_the_report_names_what_served(result: LegResult) -> None:
    assert set(result.environment) >= {"kernel", "kernel_release", "qemu", "rdma-core"}
    assert result.environment["kernel"] == result.environment["kernel_release"]
