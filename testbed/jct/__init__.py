"""Where the time of a job went: its parts, per worker and on the critical path."""

from testbed.jct.model import PARTS, JctParts, Part
from testbed.jct.parts import jct_parts

__all__ = ["PARTS", "JctParts", "Part", "jct_parts"]
