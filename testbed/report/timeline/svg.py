def timeline_svg(timeline): return ""
