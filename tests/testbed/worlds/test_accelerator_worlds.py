"""The built-in scenarios of accelerators beside a commodity switch, with real packets."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from tests.support.emulated import needs_root
from tests.support.passing import assert_passes
from tests.support.selection import some_at_once

pytestmark = needs_root


@pytest.mark.parametrize("name", some_at_once(["accelerator-lossy", "accelerator-dies"], quick=["accelerator-dies"]))
def test_a_built_in_passes(name: str, tmp_path: Path) -> None:
    result = run_scenario(load_scenario(name, world="emulated"), tmp_path / "run")
    assert_passes(result.document)
