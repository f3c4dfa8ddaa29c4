"""One processor for all that an interface receives."""

from __future__ import annotations

import os

import pytest

from testbed.kernel import receive_queues
from testbed.kernel.namespaces import PrivateNetwork
from testbed.kernel.receive_queues import may_receive_on, processor_for, receive_all_on, receive_on


def test_processors_are_taken_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {7, 2, 33})
    assert [processor_for(number) for number in range(4)] == [2, 7, 33, 2]


def test_masks_are_spelled_in_groups_of_32_bits() -> None:
    assert receive_queues._spelled(1 << 3) == "00000008"
    assert receive_queues._spelled(1 << 33) == "00000002,00000000"
    assert receive_queues._spelled(1 << 64) == "00000001,00000000,00000000"


def test_an_interface_that_is_not_there_has_no_queues() -> None:
    assert not receive_on(os.getpid(), "no-such-port", 0)
    assert not may_receive_on("no-such-port")


@pytest.mark.root
def test_interfaces_made_later_receive_on_that_processor() -> None:
    network = PrivateNetwork()
    try:
        with network.inside():
            if not receive_all_on(processor_for(1)):
                pytest.skip("this kernel has no net.core.rps_default_mask")
            written = int(receive_queues._DEFAULT.read_text(encoding="ascii").replace(",", ""), 16)
        assert written == 1 << processor_for(1)
    finally:
        network.close()
