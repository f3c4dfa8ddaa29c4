"""Files that users write besides scenarios, each with one key removed or spoiled: used, or the file is named."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
import yaml

from switch_nodes.registry import create_program
from testbed.cli import main
from testbed.cli.datagramnode import read_server_config, read_worker_config
from testbed.cli.nodes import _of_file, _switch_config
from testbed.lab.inventory import parse_inventory
from testbed.plan import make_plan
from testbed.plan.nodeconfig import dump_node_config, making_a_node
from testbed.scenario import load_scenario
from testbed.sweeps.builtin import builtin_sweeps, sweep_file
from testbed.sweeps.loader import load_sweep
from tests.support.inventories import INVENTORY
from tests.support.selection import some_at_once
from tests.support.spoiled import count_spoiled
from workloads.config import WorkerConfig
from workloads.errors import ScenarioError
from workloads.fallback import create_worker
from workloads.hosts import create_host

_NODES = some_at_once(
    ["rack", "irn-lossy", "spine-leaf", "switchml-uc", "atp", "esa-scarce", "grid-triangle", "dlcp-ina", "repair", "ps",
     "hierarchical"], ["rack", "switchml-uc", "atp"],
)  # fmt: skip
_SHARE = 80


@pytest.mark.parametrize("name", sorted(builtin_sweeps()))
def test_sweeps(name: str, tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"

    def load(text: str) -> None:
        file.write_text(text, encoding="utf-8")
        load_sweep(str(file))

    assert count_spoiled(name, yaml.safe_load(sweep_file(name).read_text(encoding="utf-8")), _SHARE, load) > 5


def test_inventories() -> None:
    def load(text: str) -> None:
        parse_inventory(text, "lab.yaml", Path("/etc/lab"))

    assert count_spoiled("inventory", yaml.safe_load(INVENTORY), 10, load) > 50


@pytest.mark.parametrize("name", _NODES)
def test_nodes(name: str, tmp_path: Path) -> None:
    plan, file = make_plan(load_scenario(name)), tmp_path / "node.yaml"

    def worker(text: str) -> None:
        file.write_text(text, encoding="utf-8")
        config = read_worker_config(file)
        with making_a_node(file):
            (create_worker if isinstance(config, WorkerConfig) else create_host)(config)  # type: ignore[arg-type]

    def server(text: str) -> None:
        file.write_text(text, encoding="utf-8")
        config = read_server_config(file)
        with making_a_node(file):
            create_host(config)

    def switch(text: str) -> None:
        file.write_text(text, encoding="utf-8")
        try:
            with making_a_node(file):
                create_program(_switch_config(words))
        except ScenarioError as error:
            raise _of_file(file, error) if error.file is None else error from error

    first = plan.switches[0]
    words = argparse.Namespace(config=file, program=first.program, ports=[f"p{port}" for port in range(first.ports)])
    assert count_spoiled(name, json.loads(dump_node_config(plan.workers[0])), _SHARE, worker)
    assert count_spoiled(name, json.loads(dump_node_config(first, ("program", "ports"))), 2 * _SHARE, switch)
    for each in plan.servers[:1]:
        assert count_spoiled(name, json.loads(dump_node_config(each)), _SHARE, server)


def test_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "rack-lossy", "--world", "simulated", "--set", "job.size=100kB", "--set", "capture=false"]
    assert main([*words, "--out", str(tmp_path / "one")]) == 0
    result, history = tmp_path / "one" / "result.json", tmp_path / "one" / "history.jsonl"
    whole, records = result.read_text(encoding="utf-8"), history.read_text(encoding="utf-8").splitlines()

    def use(text: str, file: Path, command: str) -> None:
        file.write_text(text, encoding="utf-8")
        assert main([command, str(tmp_path / "one"), *([str(tmp_path / "one")] if command == "compare" else [])]) in (
            0, 64,
        ), capsys.readouterr().err  # fmt: skip

    assert count_spoiled("compare", json.loads(whole), 300, lambda text: use(text, result, "compare")) > 10
    assert count_spoiled("report", json.loads(whole), 300, lambda text: use(text, result, "report")) > 10
    result.write_text(whole, encoding="utf-8")
    kinds = {json.loads(record)["event"]: number for number, record in reversed(list(enumerate(records)))}
    for kind, number in kinds.items():
        count_spoiled(
            kind, json.loads(records[number]), 80,
            lambda text, at=number: use("\n".join([*records[:at], text, *records[at + 1 :]]), history, "timeline"),
        )  # fmt: skip
    capsys.readouterr()
    result.write_text(whole.replace('"jct_s": ', '"jct_s": "soon", "odd": ', 1), encoding="utf-8")
    assert main(["compare", str(tmp_path / "one"), str(tmp_path / "one")]) == 64
    assert (
        "result.json: metrics.jct_s: damaged, or of another version of ina-testbed; found 'soon'; allowed: type: "
        in (capsys.readouterr().err)
    )
    result.write_text(whole.replace('"schema": 2', '"schema": 1', 1), encoding="utf-8")
    assert main(["compare", str(tmp_path / "one"), str(tmp_path / "one")]) == 64
    assert (
        "result.json: schema: damaged, or of another version of ina-testbed; found 1; allowed: const: 2"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("qpn", 1 << 24, "out of range; found 16777216; allowed: a whole number from 0 to 16777215"),
        ("timeout_code", 32, "out of range; found 32; allowed: a whole number from 0 to 31"),
        ("path_mtu", 1000, "unknown value; found 1000; allowed: 256, 512, 1024, 2048, 4096, 8192"),
        ("recovery", "irm", "unknown value; found 'irm'; allowed: "),
    ],
)
def test_a_worker_that_fits_no_packet_is_refused_with_the_key(
    key: str, value: int | str, told: str, tmp_path: Path
) -> None:
    config, file = json.loads(dump_node_config(make_plan(load_scenario("rack")).workers[0])), tmp_path / "node.json"
    config["to_successor"][key] = value
    file.write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        read_worker_config(file)
    assert f"to_successor.{key}: {told}" in str(caught.value)


def test_a_machine_that_cannot_be_made_is_the_files_fault(tmp_path: Path) -> None:
    with (
        pytest.raises(ScenarioError, match=r"node.json: no node can be made of this: OverflowError: too many"),
        making_a_node(tmp_path / "node.json"),
    ):
        raise OverflowError("too many")
