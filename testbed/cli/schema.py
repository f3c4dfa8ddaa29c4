"""`tb schema`: the keys of scenario files as JSON Schema."""

from __future__ import annotations

import argparse
import json

from testbed.terminal.standard import print_document

__all__ = ["configure_schema", "run_schema"]


def configure_schema(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb schema > scenario.schema.json
An editor with YAML support then completes and explains keys of a scenario file whose first line is
  # yaml-language-server: $schema=scenario.schema.json
"""


def run_schema(args: argparse.Namespace) -> int:
    from testbed.scenario.schema import scenario_schema

    print_document(json.dumps(scenario_schema(), indent=2, ensure_ascii=False))
    return 0
