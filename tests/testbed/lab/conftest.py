"""One emulated lab for all tests of this folder that need no lab of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.lab.emulated.shape import LabShape
from tests.support.labs import lab_of, require_lab, using

_CLOCK = (("h3", 5.0),)


@pytest.fixture(scope="session")
def small_lab() -> Iterator[Path]:
    """h1, h2, h3 (whose clock is 5 s ahead) and the card host f1, whose card takes some time to load."""
    require_lab()
    shape = LabShape(f"t{os.getpid()}", hosts=3, clock_offsets=_CLOCK, card_load_ms=2500)
    with lab_of(shape) as inventory:
        yield inventory


@pytest.fixture(scope="session")
def deployed_lab(small_lab: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with our package on h1 and f1."""
    from testbed.lab.drivers import HostDriver
    from testbed.lab.inventory import load_inventory

    inventory = load_inventory(small_lab)
    with using(inventory, tmp_path_factory.mktemp("state")) as (lab, _):
        HostDriver(lab, inventory.select(["h1", "f1"])).deploy()
    return small_lab
