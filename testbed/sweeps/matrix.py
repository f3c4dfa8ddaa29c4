"""A sweep as a page: protocols across, scenarios down, as interoperability matrices are read. One file, nothing from
outside."""

from __future__ import annotations

from html import escape

from testbed.comparison.known_figures import title_of
from testbed.sweeps.groups import PointGroup, groups_of
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.shown import show_summary
from testbed.sweeps.values import shown_value

__all__ = ["matrix_page"]

_CSS = """
body{font:15px/1.45 system-ui,sans-serif;margin:1.5rem auto;max-width:80rem;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.25rem}.wide{overflow-x:auto}table{border-collapse:collapse}th,td{border:1px solid #d5dae0;padding:.35rem .6rem;text-align:left;vertical-align:top}
th{font-weight:600;white-space:nowrap}td small{display:block;color:#5c6670}.pass{background:#e3f5e6}.fail{background:#fde3e3}.unknown{background:#fdf3d8}.invalid,.failed{background:#eef0f2}
.expected{outline:2px solid #176f2c;outline-offset:-3px}
@media(prefers-color-scheme:dark){body{color:#e6e9ec;background:#14171a}th,td{border-color:#3a4046}td small{color:#9aa4ad}
.pass{background:#16351d}.fail{background:#451a1c}.unknown{background:#3d3113}.invalid,.failed{background:#23282d}.expected{outline-color:#6bd685}}
"""  # noqa: E501
_MARKS = {"pass": "\u2713", "fail": "\u2715", "unknown": "?", "invalid": "\u2013", "failed": "!"}
_WORST = ("fail", "failed", "unknown", "pass", "invalid")
_MEANING = (
    "\u2713 pass, \u2715 fail, ? unknown, \u2013 not possible, ! did not run; framed: not a pass, and that was expected"
)


def matrix_page(finished: FinishedScenarios) -> str:
    """Variants are the columns (without any: scenarios); each other setting is a row. The cell says the worst verdict,
    how many of the seeds had it, the first figure of the sweep, and why."""
    sweep, groups = finished.sweep, groups_of(finished)
    across = sweep.variant_name if sweep.variants else "scenario"
    columns = list(dict.fromkeys(shown_value(group.values[across]) for group in groups))
    down = [name for name, _ in groups[0].labels if name != across and (name == "scenario" or name in sweep.dimensions)]
    rows: dict[tuple[str, ...], dict[str, PointGroup]] = {}
    for group in groups:
        key = tuple(shown_value(group.values[name]) for name in down)
        rows.setdefault(key, {})[shown_value(group.values[across])] = group
    head = "".join(f"<th>{escape(name)}</th>" for name in (*down, *columns))
    body = "".join(
        "<tr>" + "".join(f"<th>{escape(value)}</th>" for value in key)
        + "".join(_cell(row.get(column), sweep.figures[0]) for column in columns) + "</tr>\n"
        for key, row in rows.items()
    )  # fmt: skip
    seeds = max(len(group.points) for group in groups)
    figure = title_of(sweep.figures[0])
    caption = f"{_MEANING}. In each cell: {figure}" + (f", median of {seeds} seeds" if seeds > 1 else "")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width,initial-scale=1">'
        f"<title>{escape(sweep.name)}</title><style>{_CSS}</style></head><body>\n<h1>{escape(sweep.name)}</h1>\n"
        f"<p>{escape(sweep.description)}</p>\n<p>{escape(caption)}.</p>\n"
        f'<div class="wide"><table>\n<tr>{head}</tr>\n{body}</table></div>\n<p><small>code '
        f"{escape(finished.code)}</small></p>\n</body></html>\n"
    )


def _cell(group: PointGroup | None, figure: str) -> str:
    if group is None:
        return "<td></td>"
    counts = group.verdicts
    verdict = next(name for name in _WORST if counts[name])
    expected = verdict != "pass" and all(
        outcome.verdict == point.expect for point, outcome in zip(group.points, group.outcomes, strict=True)
    )
    many = f" {counts[verdict]}/{len(group.points)}" if counts[verdict] < len(group.points) else ""
    summary = group.summary(figure)
    shown = f"<small>{escape(show_summary(figure, summary))}</small>" if summary else ""
    title = f' title="{escape(group.reason)}"' if group.reason else ""
    reason = f"<small>{escape(_short(group.reason))}</small>" if verdict != "pass" and group.reason else ""
    kind = f"{verdict} expected" if expected else verdict
    return f'<td class="{kind}"{title}>{_MARKS[verdict]} {verdict}{many}{shown}{reason}</td>'


def _short(text: str) -> str:
    return text if len(text) <= 90 else text[:87].rsplit(" ", 1)[0] + " ..."
