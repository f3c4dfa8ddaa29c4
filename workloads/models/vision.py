"""Convolutional networks for images of 224 x 224 and 1000 classes, layer by layer from the parameters of their
architectures.

AlexNet as in Krizhevsky, "One weird trick for parallelizing convolutional neural networks" (2014); VGG16 as
configuration D of Simonyan and Zisserman (2015); ResNet-50 as in He et al. (2016).
"""

from __future__ import annotations

from collections.abc import Iterator

from workloads.models.layers import Layer, Model

__all__ = ["alexnet", "resnet50", "vgg16"]

_CLASSES = 1000


def _convolution(name: str, kernel: int, inputs: int, outputs: int, side: int) -> Layer:
    """A convolution with bias; `side`: side of its output in pixels."""
    weights = kernel * kernel * inputs * outputs
    return Layer(name, (weights, outputs), weights * side * side)


def _normalised(name: str, kernel: int, inputs: int, outputs: int, side: int) -> Layer:
    """Without bias, followed by batch normalisation with its scale and shift."""
    weights = kernel * kernel * inputs * outputs
    return Layer(name, (weights, outputs, outputs), weights * side * side)


def _dense(name: str, inputs: int, outputs: int) -> Layer:
    return Layer(name, (inputs * outputs, outputs), inputs * outputs)


def _classifier(features: int, hidden: int = 4096) -> tuple[Layer, ...]:
    return _dense("fc1", features, hidden), _dense("fc2", hidden, hidden), _dense("fc3", hidden, _CLASSES)


def alexnet() -> Model:
    convolutions = (
        _convolution("conv1", 11, 3, 64, 55),
        _convolution("conv2", 5, 64, 192, 27),
        _convolution("conv3", 3, 192, 384, 13),
        _convolution("conv4", 3, 384, 256, 13),
        _convolution("conv5", 3, 256, 256, 13),
    )
    return Model("alexnet", (*convolutions, *_classifier(256 * 6 * 6)))


_VGG16_STAGES = ((2, 64, 224), (2, 128, 112), (3, 256, 56), (3, 512, 28), (3, 512, 14))
"""convolutions, channels, side"""


def vgg16() -> Model:
    layers, inputs = list[Layer](), 3
    for count, channels, side in _VGG16_STAGES:
        for _ in range(count):
            layers.append(_convolution(f"conv{len(layers) + 1}", 3, inputs, channels, side))
            inputs = channels
    return Model("vgg16", (*layers, *_classifier(inputs * 7 * 7)))


_RESNET50_STAGES = ((3, 64, 56), (4, 128, 28), (6, 256, 14), (3, 512, 7))
"""blocks, width, side"""
_EXPANSION = 4


def resnet50() -> Model:
    layers, inputs = [_normalised("stem", 7, 3, 64, 112)], 64
    for stage, (blocks, width, side) in enumerate(_RESNET50_STAGES, 1):
        for block in range(1, blocks + 1):
            # The stride of a stage is in the 3 x 3 convolution of its first block, so that the one before sees the
            # larger image.
            entry = side * 2 if stage > 1 and block == 1 else side
            layers += _bottleneck(f"stage{stage}.block{block}", inputs, width, entry, side)
            inputs = width * _EXPANSION
    return Model("resnet50", (*layers, _dense("fc", inputs, _CLASSES)))


def _bottleneck(name: str, inputs: int, width: int, entry: int, side: int) -> Iterator[Layer]:
    outputs = width * _EXPANSION
    yield _normalised(f"{name}.conv1", 1, inputs, width, entry)
    yield _normalised(f"{name}.conv2", 3, width, width, side)
    yield _normalised(f"{name}.conv3", 1, width, outputs, side)
    if inputs != outputs:
        yield _normalised(f"{name}.shortcut", 1, inputs, outputs, side)
