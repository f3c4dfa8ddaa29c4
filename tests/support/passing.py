"""Runs that must pass, and what is said where one does not."""

from __future__ import annotations

from typing import Any

__all__ = ["assert_passes", "failed_checks"]


def assert_passes(document: dict[str, Any]) -> None:
    assert document["verdict"] == "pass", failed_checks(document)


def failed_checks(document: dict[str, Any]) -> str:
    """Of a `result.json`, one line for each check that did not pass, and the dilation: pytest cuts longer texts."""
    bad = [check for check in document["checks"] if check["verdict"] != "pass"]
    lines = [f"{check['name']} {check['verdict']}: {check['detail']}; {check['evidence'][:3]}" for check in bad]
    return "\n".join([*lines, f"dilation {document['environment'].get('dilation')}"])
