"""The group of these tests. Torch is imported when a test asks for it: without torch they are skipped."""

import pytest


@pytest.fixture
def members(tmp_path):
    from tests.workloads.torch_backend.members import Members

    made = Members(tmp_path)
    yield made
    made.close()


@pytest.fixture(params=["ring", "rack", "switchml"], ids=["ring", "netreduce", "switchml"])
def wired(request, tmp_path):
    """Members whose collectives all cross the network, while packets are lost."""
    from tests.workloads.torch_backend.members import Members

    lost = "faults=[{kind: loss, rate: 1%}]"
    made = Members(tmp_path, timeout_s=60.0, scenario=request.param, carries_all=True, changes=(lost,))
    yield made
    made.close()
