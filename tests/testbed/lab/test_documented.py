"""docs/lab.md explains every key of an inventory and every action of `tb lab`, and its example is an inventory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from testbed.cli.options.lab import ACTIONS
from testbed.lab.drivers import HostDriver, LabCardDriver
from testbed.lab.inventory import parse_inventory
from testbed.lab.schema import CardKeys, HostKeys, InterfaceKeys, InventoryKeys, KeyKeys, PowerKeys, TunnelKeys
from testbed.manual.pages import filled
from testbed.reading.validate import key_names
from testbed.worlds.lab.placing import choose_card

_TEXT = (Path(__file__).resolve().parents[3] / "docs" / "lab.md").read_text(encoding="utf-8")
_EXAMPLE = _TEXT.split("```yaml\n")[1].split("```")[0]


@pytest.mark.parametrize("keys", [CardKeys, HostKeys, InterfaceKeys, InventoryKeys, KeyKeys, PowerKeys, TunnelKeys])
def test_every_key_is_there(keys) -> None:  # type: ignore[no-untyped-def]
    optional = {"status"}
    words = set(re.findall(r"[a-z_]+", _TEXT))
    assert [name for name in key_names(keys) if name not in words | optional] == []


def test_every_action_is_there() -> None:
    assert [name for name in ACTIONS if name not in _TEXT] == []


def test_the_table_of_steps_is_made_from_their_declarations() -> None:
    text = filled(_TEXT)
    rows = [
        f"| {kind} | `{step.name}` | {step.does} | {', '.join(step.needs)} |"
        for kind, driver in (("host", HostDriver), ("card", LabCardDriver))
        for step in driver.steps.values()
    ]
    assert [row for row in rows if row not in text] == []
    assert "| host | `attach` | keep kernels out of RoCE on an interface | lease | detach, or with lease |" in text


def test_the_example_is_an_inventory() -> None:
    inventory = parse_inventory(_EXAMPLE, "lab.yaml", Path("/"))
    card = choose_card(inventory)
    assert card.tunnel is not None
    assert (card.tunnel.ports, card.trace) == (4, "/run/card/fpga0")
