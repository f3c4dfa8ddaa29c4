"""The suite itself: a guest boots, unmodified rdma_rxe endpoints all-reduce through our switch. Skipped where QEMU,
packages or the stock kernel cannot be had."""

from __future__ import annotations

import os
import re

import pytest

from testbed.captures.pcapng import Interface, read_capture
from testbed.history.verdict import Verdict
from testbed.interop.cases import choose_cases
from testbed.interop.image.prepare import default_work_folder, prepare_image
from testbed.interop.packages import ensure_packages
from testbed.interop.suite import run_suite
from testbed.kernel.ledger import known_runs
from workloads.errors import HostCapabilityError

pytestmark = [pytest.mark.rxe, pytest.mark.timeout(1200)]
CHOSEN = (
    "shape/4-hosts-float32-170", "shape/6-hosts-int32-1", "loss/middle", "loss/hello", "chance/loss-1", "plain/shift",
    "mixed/half", "peer/rc-pingpong", "peer/loss-nak", "control/float64-sums",
)  # fmt: skip


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """(result, folder with all that the run left)"""
    try:
        ensure_packages(print)
        prepare_image(default_work_folder(), print)
    except HostCapabilityError as error:
        pytest.skip(str(error))
    keep = tmp_path_factory.mktemp("suite") / f"interop-suite-{os.getpid()}"
    result = run_suite(choose_cases(CHOSEN), say=print, keep=keep)
    assert keep.name not in {folder.name for folder in known_runs()}
    return result, keep


@pytest.mark.parametrize("case", CHOSEN)
def test_unmodified_endpoints_pass(suite, case):
    (outcome,) = [outcome for outcome in suite[0].outcomes if outcome.case == case]
    assert outcome.verdict is Verdict.PASS, outcome.detail


def test_the_stacks_are_the_stock_ones(suite):
    environment = suite[0].environment
    assert re.fullmatch(r"\d+\.\d+\..*-amd64", environment["kernel_release"])
    assert environment["kernel_release"] == environment["kernel"]
    assert environment["rdma-core"]


def test_scapy_computes_the_same_icrc_for_what_went_through(suite):
    """A third opinion beside ours and that of rxe, on data packets and answers, entering and leaving."""
    from scapy.contrib.roce import BTH
    from scapy.layers.l2 import Ether

    (capture,) = suite[1].glob("*-loss-middle/s1.pcapng")
    interfaces: list[Interface] = []
    seen = {True: 0, False: 0}
    for captured in list(read_capture(capture, interfaces))[::7]:
        packet = Ether(captured.frame)
        if BTH not in packet:
            continue
        icrc = captured.frame[-4:]
        packet[BTH].icrc = None
        assert bytes(packet)[-4:] == icrc
        seen[captured.outgoing] += 1
    assert min(seen.values()) > 20
