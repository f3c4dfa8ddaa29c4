"""Runs that must pass, and what is said where one does not."""

from __future__ import annotations

from typing import Any

__all__ = ["assert_passes"]


def assert_passes(document: dict[str, Any]) -> None:
    """Of the checks of a `result.json` only those that did not pass are shown: of all, pytest cuts the middle out."""
    bad = [check for check in document["checks"] if check["verdict"] != "pass"]
    told = [f"{check['name']} {check['verdict']}: {check['detail']}" for check in bad]
    assert document["verdict"] == "pass", told
