"""What follows from the declaration of a step, on hosts that are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.lab.drivers import HostDriver, LabCardDriver
from testbed.lab.drivers.step import Driver, Undoing, step
from testbed.lab.lab import Lab, StepDone
from testbed.lab.model import Host, Inventory
from tests.support.labs import Seen
from workloads.errors import LabError

_HOSTS = [Host(name, "10.0.0.1") for name in ("h1", "h2")]


class Door(Driver):
    """Doors of hosts: `broken` names (step, host) that fail after they did their work."""

    broken: frozenset[tuple[str, str]] = frozenset()
    did: list[tuple[str, str, Any]]

    def _do(self, name: str, host: Host, what: Any = None) -> StepDone:
        self.did.append((name, host.name, what))
        if (name, host.name) in self.broken:
            raise LabError(host.name, f"{name} broke")
        return StepDone(what)

    @step("a key for you alone", undone_by="give_back", all_or_none=True)
    def take(self, host: Host, *, key: str) -> StepDone:
        return self._do("take", host, key)

    @step("the key goes back")
    def give_back(self, host: Host) -> StepDone:
        return self._do("give_back", host)

    @step("the door stands open", needs=("take",), undone_by="close", undone_with="take")
    def open(self, host: Host, *, wide: int, why: str = "") -> StepDone:
        return self._do("open", host, (wide, why))

    @step("the door is shut")
    def close(self, host: Host, *, wide: int) -> StepDone:
        return self._do("close", host, wide)

    @step("a lamp burns", name="light", undone_by="dark")
    def light_up(self, host: Host) -> StepDone:
        return self._do("light", host)

    @step("no lamp burns")
    def dark(self, host: Host) -> StepDone:
        return self._do("dark", host)


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., tuple[Door, Seen]]:
    def make(undoing: Undoing | None = None, broken: tuple[tuple[str, str], ...] = ()) -> tuple[Door, Seen]:
        seen = Seen()
        inventory = Inventory("bench", {host.name: host for host in _HOSTS}, {}, {}, tmp_path / "known", "lab.yaml")
        door = Door(Lab(inventory, seen, state=tmp_path), _HOSTS, undoing)
        door.did, door.broken = [], frozenset(broken)
        return door, seen

    return make


def test_a_step_runs_on_all_hosts_with_what_each_is_told(made: Callable[..., tuple[Door, Seen]]) -> None:
    door, seen = made()
    values = door.open(wide=3, each=lambda host: {"why": f"for {host.name}"})
    assert values == {"h1": (3, "for h1"), "h2": (3, "for h2")}
    assert seen.verdicts("open") == {"h1": "done", "h2": "done"}
    door.step("light")()
    assert seen.verdicts("light") == {"h1": "done", "h2": "done"}


def test_all_or_none_is_undone_where_it_was_done(made: Callable[..., tuple[Door, Seen]]) -> None:
    undoing = Undoing()
    door, _ = made(undoing, (("take", "h2"),))
    with pytest.raises(LabError, match="h2: take broke"), undoing:
        door.take(key="k")
    assert [entry for entry in door.did if entry[0] == "give_back"] == [("give_back", "h1", None)]


def test_the_newest_is_undone_first_and_what_goes_with_another_is_not(made: Callable[..., tuple[Door, Seen]]) -> None:
    with Undoing() as undoing:
        door, _ = made(undoing)
        door.take(key="k")
        door.open(wide=2)
        door.step("light")()
        del door.did[:]
    assert [name for name, _, _ in door.did] == ["dark", "dark", "give_back", "give_back"]


def test_what_was_there_before_stays_and_what_lives_by_it_is_undone(made: Callable[..., tuple[Door, Seen]]) -> None:
    with Undoing({"take": {"h2"}}) as undoing:
        door, _ = made(undoing)
        door.take(key="k")
        door.open(wide=2, why="air")
        del door.did[:]
    assert door.did == [("close", "h2", 2), ("give_back", "h1", None)]


def test_what_was_undone_by_hand_is_not_undone_again(made: Callable[..., tuple[Door, Seen]]) -> None:
    with Undoing() as undoing:
        door, _ = made(undoing)
        door.step("light")()
        door.dark()
        del door.did[:]
    assert door.did == []


def test_a_step_that_failed_half_way_is_undone_and_its_failure_is_the_one_that_is_told(
    made: Callable[..., tuple[Door, Seen]],
) -> None:
    undoing = Undoing()
    door, seen = made(undoing, (("light", "h1"), ("dark", "h2")))
    with pytest.raises(LabError, match="h1: light broke"), undoing:
        door.step("light")()
    assert seen.verdicts("dark") == {"h1": "done", "h2": "failed"}


def test_after_a_block_that_went_well_a_failure_to_undo_is_told(made: Callable[..., tuple[Door, Seen]]) -> None:
    undoing = Undoing()
    door, _ = made(undoing, (("dark", "h2"),))
    with pytest.raises(LabError, match="h2: dark broke"), undoing:
        door.step("light")()


@pytest.mark.parametrize("driver", [HostDriver, LabCardDriver])
def test_what_steps_declare_is_there(driver: type[Driver]) -> None:
    known = {*HostDriver.steps, *LabCardDriver.steps}
    for declared in driver.steps.values():
        assert set(declared.needs) <= known, declared.name
        assert declared.undone_by in ("", *driver.steps)
        assert declared.undone_with in ("", *known)
        assert declared.does
        if declared.undone_by:
            undoing = driver.steps[declared.undone_by].parameters
            assert {name for name, parameter in undoing.items() if parameter.default is parameter.empty} <= set(
                declared.parameters
            )
        if declared.command:
            assert declared.would, "a dry run says what it would do"
