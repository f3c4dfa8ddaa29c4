"""Chains of known networks, against figures that others published."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workloads.errors import ScenarioError
from workloads.models import create_model
from workloads.strategies.costs import Devices
from workloads.strategies.frontier import frontier
from workloads.strategies.models import CHAIN_NAMES, chain_of_model, output_elements

# Output shapes (channels x side x side, or features) of layers as the papers of the architectures print them.
SHAPES = {
    "alexnet": {"conv1": 64 * 55**2, "conv2": 192 * 27**2, "conv5": 256 * 13**2, "fc1": 4096, "fc3": 1000},
    "vgg16": {"conv1": 64 * 224**2, "conv3": 128 * 112**2, "conv13": 512 * 14**2, "fc2": 4096, "fc3": 1000},
    "resnet50": {
        "stem": 64 * 112**2, "stage1-block1": 256 * 56**2, "stage2-block1": 512 * 28**2, "stage3-block6": 1024 * 14**2,
        "stage4-block3": 2048 * 7**2, "fc": 1000,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CHAIN_NAMES)
def test_what_operators_hand_on(name: str) -> None:
    found = {item.name: item.activations_bytes for item in chain_of_model(name, batch=3).operators}
    assert {key: found[key] for key in SHAPES[name]} == {key: 3 * 4 * size for key, size in SHAPES[name].items()}


@pytest.mark.parametrize("name", CHAIN_NAMES)
def test_all_weights_are_in_the_chain(name: str, oracles: Path) -> None:
    table = json.loads((oracles / "models.json").read_text())
    text = json.dumps(table)
    chain = chain_of_model(name)
    assert chain.weights_bytes == 4 * create_model(name).elements
    assert str(create_model(name).elements) in text


@pytest.mark.parametrize(("name", "operators"), [("alexnet", 8), ("vgg16", 16), ("resnet50", 18)])
def test_a_block_is_one_operator(name: str, operators: int) -> None:
    names = [operator.name for operator in chain_of_model(name).operators]
    assert len(names) == len(set(names)) == operators


def test_outputs_of_all_layers_are_whole() -> None:
    for name in CHAIN_NAMES:
        for layer in create_model(name).layers:
            assert layer.work % layer.tensors[0] == 0
            assert output_elements(layer) > 0


def test_computing_follows_from_batch_and_device() -> None:
    """AlexNet: 0.71 billion multiply-accumulates of an image, two operations each, three passes."""
    one = chain_of_model("alexnet", 1, 1e12)
    assert one.compute_ns == pytest.approx(6 * 714_188_480 / 1e12 * 1e9, rel=1e-6)
    assert chain_of_model("alexnet", 8, 2e12).compute_ns == pytest.approx(4 * one.compute_ns, rel=1e-6)


def test_the_fastest_alexnet_is_that_of_one_weird_trick() -> None:
    """Krizhevsky (2014) found by hand: convolutions data-parallel, dense layers model-parallel."""
    fastest = min(frontier(chain_of_model("alexnet"), Devices(4, 12.5e9)), key=lambda point: point.price.time_s)
    assert fastest.strategy == ("DP",) * 5 + ("MP",) * 3


def test_other_networks_are_no_chains() -> None:
    with pytest.raises(ScenarioError, match="chain: no such chain; found 'bert-base'; allowed: alexnet, vgg16"):
        chain_of_model("bert-base")
