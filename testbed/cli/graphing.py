"""`tb graph`: a picture of a scenario's topology."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from testbed.drawing import Picture, draw_dot, draw_mermaid, draw_svg, picture_of
from testbed.scenario import load_scenario
from testbed.terminal.standard import print_document
from workloads.trusted import write_named

__all__ = ["run_graph"]

_FORMATS: dict[str, Callable[[Picture], str]] = {"svg": draw_svg, "dot": draw_dot, "mermaid": draw_mermaid}
_SUFFIXES = {".svg": "svg", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid"}


def run_graph(args: argparse.Namespace) -> int:
    out: Path | None = args.out
    kind = args.format or (_SUFFIXES.get(out.suffix, "svg") if out else "svg")
    text = _FORMATS[kind](picture_of(load_scenario(args.scenario, args.overrides)))
    if out is None:
        print_document(text)
        return 0
    write_named(out, text, key="--out")
    return 0
