"""DNN models as layers: what a training job sends and computes."""

from workloads.models.layers import Layer, Model, layer_times, scaled_layers, single_layer
from workloads.models.registry import create_model, model_names
from workloads.models.table import MOST_LAYERS, parse_model

__all__ = [
    "MOST_LAYERS",
    "Layer",
    "Model",
    "create_model",
    "layer_times",
    "model_names",
    "parse_model",
    "scaled_layers",
    "single_layer",
]
