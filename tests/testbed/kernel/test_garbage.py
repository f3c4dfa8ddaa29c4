import gc
from collections.abc import Iterator

import pytest

from testbed.kernel.garbage import seldom, spared


@pytest.fixture(autouse=True)
def _nothing_is_frozen() -> Iterator[None]:
    """The session is (tests/conftest.py)."""
    gc.unfreeze()
    yield
    gc.freeze()


def test_what_there_is_is_passed_over_until_the_end() -> None:
    there = [[]]
    with spared():
        assert gc.get_freeze_count() > 0
        assert not any(found is there for found in gc.get_objects())
    assert gc.get_freeze_count() == 0
    assert any(found is there for found in gc.get_objects())


def test_a_failure_ends_it_too() -> None:
    with pytest.raises(ZeroDivisionError), spared():
        _ = 1 / 0
    assert gc.get_freeze_count() == 0


def test_what_was_frozen_before_stays_frozen() -> None:
    there = [[]]
    gc.freeze()
    with spared():
        pass
    assert not any(found is there for found in gc.get_objects())


def test_the_collector_looks_seldom_and_as_before_afterwards() -> None:
    before = gc.get_threshold()
    with seldom():
        assert gc.get_threshold()[0] == 100_000
    assert gc.get_threshold() == before
    try:
        gc.set_threshold(300_000, *before[1:])
        with seldom():
            assert gc.get_threshold()[0] == 300_000
    finally:
        gc.set_threshold(*before)


def test_a_collector_that_is_off_stays_off() -> None:
    before = gc.get_threshold()
    gc.set_threshold(0)
    try:
        with seldom():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)
