from __future__ import annotations

import pytest

from workloads.lazily import lazily


def test_a_package_finds_its_names_and_no_others() -> None:
    find = lazily("workloads", {"lazily": ".lazily"})
    assert find("lazily") is lazily
    with pytest.raises(AttributeError, match="module 'workloads' has no attribute 'sooner'"):
        find("sooner")
