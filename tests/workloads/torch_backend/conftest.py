"""The group of these tests. Torch is imported when a test asks for it: without torch they are skipped."""

import pytest


@pytest.fixture
def members(tmp_path):
    from tests.workloads.torch_backend.members import Members

    made = Members(tmp_path)
    yield made
    made.close()
