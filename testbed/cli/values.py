"""Values of options as argparse reads them: a number or a quantity with its limits, in one form everywhere."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from testbed.reading.units import UnitError, format_duration, format_size, parse_duration, parse_size, parse_whole

__all__ = ["MOST_SEED", "ReadQuantity", "duration", "hosts", "named_path", "refused", "seed", "size", "whole"]

MOST_SEED = (1 << 63) - 1
_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,16}\Z", re.ASCII)
_LONGEST_NAME, _LONGEST_PATH = 255, 4095
"""bytes, as of Linux"""
_DAY_NS = 86_400 * 10**9


def refused(text: str, allowed: str) -> argparse.ArgumentTypeError:
    """Argparse puts the name of the option before it."""
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    return argparse.ArgumentTypeError(f"found {shown!r}; allowed: {allowed}")


def named_path(text: str) -> Path:
    """A file or folder."""
    if not text:
        raise refused(text, "the path of a file or folder; . is this folder")
    if len(os.fsencode(text)) > _LONGEST_PATH or any(len(os.fsencode(n)) > _LONGEST_NAME for n in text.split("/")):
        raise refused(text, f"names of at most {_LONGEST_NAME} bytes, in paths of at most {_LONGEST_PATH:,}")
    return Path(text)


def whole(low: int, high: int, more: str = "") -> Callable[[str], int]:
    """A whole number from `low` to `high`: `12`, `1e3`, `0x621f`. `more`: what else is allowed, for messages."""

    def parse(text: str) -> int:
        number = int(text, 16) if _HEX.match(text) else parse_whole(text)
        if number is None or not low <= number <= high:
            most = "2^63-1" if high == MOST_SEED else high
            raise refused(text, f"{more}a whole number from {low} to {most}")
        return number

    return parse


def hosts(low: int) -> Callable[[str], int]:
    """A number of hosts that addresses are there for. Help needs no topology, so parsing imports it."""

    def parse(text: str) -> int:
        from topologies import MAX_HOSTS

        return whole(low, MAX_HOSTS)(text)

    return parse


seed = whole(0, MOST_SEED)


@dataclass(frozen=True, slots=True)
class ReadQuantity:
    """Reads a quantity with its unit, within limits."""

    parse: Callable[[object], int]
    show: Callable[[int], str]
    """text that `parse` reads"""
    least: int
    most: int

    def __call__(self, text: str) -> int:
        bounds = f"{self.show(self.least)} to {self.show(self.most)}"
        try:
            number = self.parse(text)
        except UnitError as error:
            hint = f"; {error.hint}" if error.hint else ""
            raise refused(text, f"{error.allowed}; {bounds}{hint}") from None
        if not self.least <= number <= self.most:
            raise refused(text, bounds)
        return number


def duration(least_ns: int = 0, most_ns: int = _DAY_NS) -> ReadQuantity:
    """A duration with its unit, in nanoseconds."""
    return ReadQuantity(parse_duration, format_duration, least_ns, most_ns)


def size(least: int, most: int) -> ReadQuantity:
    """A size in bytes."""
    return ReadQuantity(parse_size, format_size, least, most)
