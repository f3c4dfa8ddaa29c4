"""YAML read with libyaml: the data and the lines that PyYAML finds, or its errors."""

from __future__ import annotations

import json
from random import Random

import pytest
import yaml

from testbed.reading import yamlfile
from testbed.reading.yamlfile import parse_yaml, read_text
from testbed.scenario import builtin_names
from testbed.scenario.builtin import find_scenario
from workloads.errors import ScenarioError

needs_libyaml = pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML has no libyaml")
PIECES = (
    *"  \n\n:-,[]{}#'\"|>?&*!%@`~a0.\\",
    "\n  ",
    ": ",
    "- ",
    " #",
    "---\n",
    "...\n",
    "|#",
    "? ",
    "é",
    "\x85",
    "\ufeff",
)


def _texts():
    files = [read_text(*find_scenario(name)) for name in builtin_names()]
    return files + [json.dumps(parse_yaml(text, "x.yaml")[0]) for text in files]


def _told(text):
    try:
        return parse_yaml(text, "x.yaml")
    except ScenarioError as error:
        return str(error)


def _reference(monkeypatch, texts):
    with monkeypatch.context() as patch:
        patch.setattr(yaml, "__with_libyaml__", False)
        return [_told(text) for text in texts]


@needs_libyaml
def test_libyaml_reads_the_built_ins_without_the_reference(monkeypatch):
    texts = _texts()
    expected = _reference(monkeypatch, texts)
    monkeypatch.delattr(yamlfile, "_Loader")
    assert [parse_yaml(text, "x.yaml") for text in texts] == expected


@needs_libyaml
def test_changed_texts_are_read_alike(monkeypatch):
    draw, changed = Random(1), ["a: |#\n  b", ">4#me: c", "--- #a", "", "# a\n\n", "-\n-\n", "a:\n\nb:\n  -\n"]
    parts = [text[begin : begin + 90] for text in _texts() for begin in (0, 60)]
    for _ in range(3000):
        text = draw.choice(parts)
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(text) + 1)
            text = text[:at] + draw.choice(PIECES) + text[at + draw.randint(0, 1) :]
        changed.append(text)
    expected = _reference(monkeypatch, changed)
    assert [_told(text) for text in changed] == expected
    assert sum(not isinstance(each, str) for each in expected) > 500
