"""A run as lanes over time, from its history: `build_timeline`, `select`, then `timeline_text`, `timeline_svg` or
`timeline_trace`."""

from testbed.report.timeline.model import Timeline
from testbed.report.timeline.perfetto import timeline_trace
from testbed.report.timeline.reading import build_timeline
from testbed.report.timeline.selection import Selection, select
from testbed.report.timeline.svg import timeline_svg
from testbed.report.timeline.text import timeline_text

__all__ = ["Selection", "Timeline", "build_timeline", "select", "timeline_svg", "timeline_text", "timeline_trace"]
