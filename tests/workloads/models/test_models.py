"""The layer tables against numbers from elsewhere, and what is made of them."""

import json

import pytest

from workloads.models import Layer, Model, create_model, layer_times, layers, model_names, scaled_layers, single_layer

_ORACLE_NAMES = {"gpt2": "gpt2-small"}
PUBLISHED = {
    "alexnet": (61_100_840, 16, 8),
    "vgg16": (138_357_544, 32, 16),
    "resnet50": (25_557_032, 161, 54),
    "bert-base": (109_482_240, 199, 14),
    "bert-large": (335_141_888, 391, 26),
    "gpt2": (124_439_808, 148, 14),
}
"""elements, tensors, layers"""
MACS = {"alexnet": 0.71e9, "vgg16": 15.5e9, "resnet50": 4.1e9}
"""commonly quoted multiply-accumulates per image"""


def test_every_model_is_known_here():
    assert set(model_names()) == set(PUBLISHED)


@pytest.mark.parametrize("name", model_names())
def test_totals(name):
    model = create_model(name)
    assert (model.elements, model.tensors, len(model.layers)) == PUBLISHED[name]
    assert len({layer.name for layer in model.layers}) == len(model.layers)


@pytest.mark.parametrize("name", model_names())
def test_every_tensor_in_its_place(name, oracles):
    table = json.loads((oracles / "models.json").read_text())["models"][_ORACLE_NAMES.get(name, name)]["layers"]
    model = create_model(name)
    assert [tensor for layer in model.layers for tensor in layer.tensors] == [elements for _, elements in table]


@pytest.mark.parametrize("name", MACS)
def test_work_is_that_of_an_image(name):
    assert sum(layer.work for layer in create_model(name).layers) == pytest.approx(MACS[name], rel=0.02)


def test_tensors_shrink_to_a_packet_and_never_grow():
    model = Model("m", (Layer("a", (100_000, 64)), Layer("b", (1000,))))
    assert scaled_layers(model, 1, 256) == (100_064, 1000)
    assert scaled_layers(model, 100, 256) == (1000 + 64, 256)
    assert scaled_layers(model, 3, 4) == (33_334 + 22, 334)


def test_time_is_shared_by_measured_times_else_work_else_size():
    measured = Model("m", (Layer("a", (9,), 1, 1, 30), Layer("b", (1,), 1, 2, 10)))
    assert layer_times(measured, 300, 400) == ((100, 300), (200, 100))
    worked = Model("m", (Layer("a", (9,), 1), Layer("b", (1,), 3)))
    assert layer_times(worked, 100, 8) == ((25, 2), (75, 6))
    sized = Model("m", (Layer("a", (9,)), Layer("b", (1,))))
    assert layer_times(sized, 100, 0) == ((90, 0), (10, 0))
    assert layer_times(single_layer(5), 7, 11) == ((7, 11),)


def test_no_nanosecond_is_lost():
    times = layer_times(create_model("resnet50"), 1_000_003, 2_000_001)
    assert [sum(column) for column in zip(*times, strict=True)] == [1_000_003, 2_000_001]


def test_sharing_time_adds_weights_up_once(monkeypatch):
    summed = []
    monkeypatch.setattr(layers, "sum", lambda weights: summed.append(1) or sum(weights), raising=False)
    many = Model("m", tuple(Layer(str(number), (number + 1,)) for number in range(100)))
    assert sum(forward for forward, _ in layer_times(many, 1000, 10)) == 1000
    assert len(summed) < 3 * len(many.layers)
