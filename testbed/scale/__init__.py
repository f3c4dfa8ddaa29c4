"""Fast paths for large systems: the message level (events per message) and the flow level (phases of fair flows)."""

from testbed.scale.outcome import ScaleOutcome

__all__ = ["ScaleOutcome"]
