"""Where the time of a job went: its parts, per worker and on the critical path."""

from testbed.jct.model import PARTS, JctPart, JctParts
from testbed.jct.parts import jct_parts

__all__ = ["PARTS", "JctPart", "JctParts", "jct_parts"]
