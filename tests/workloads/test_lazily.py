from __future__ import annotations

import subprocess
import sys

import pytest

from workloads.lazily import later, lazily


def test_a_function_is_imported_at_its_first_call() -> None:
    code = """
import sys
from workloads.lazily import later
blend = later("colorsys:rgb_to_hls")
assert "colorsys" not in sys.modules
assert blend(1, 1, 1) == (0.0, 1.0, 0.0)
assert (blend.__module__, blend.__name__) == ("colorsys", "rgb_to_hls")
"""
    subprocess.run([sys.executable, "-S", "-c", code], check=True)


def test_a_package_finds_its_names_and_no_others() -> None:
    find = lazily("workloads", {"later": ".lazily"})
    assert find("later") is later
    with pytest.raises(AttributeError, match="module 'workloads' has no attribute 'sooner'"):
        find("sooner")
