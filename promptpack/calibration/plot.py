"""The measured curve as a drawing: SVG by itself, or in a page with its figures; nothing is fetched from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from promptpack.calibration.result import HEADS, Calibration, Place

WIDTH, HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 24, 56, 62

_STYLE = """
  .promptpack-curve { font: 13px system-ui, sans-serif; color-scheme: light dark;
    --ink: #1c1f24; --dim: #5c6570; --grid: #d9dde2; --line: #1f5fae; --base: #a4471b; --paper: #ffffff; }
  @media (prefers-color-scheme: dark) { .promptpack-curve {
    --ink: #e8eaed; --dim: #a7afb9; --grid: #3a4048; --line: #7fb2f0; --base: #e99a6c; --paper: #16191d; } }
  .promptpack-curve text { fill: var(--ink); } .promptpack-curve .dim { fill: var(--dim); }
  .promptpack-curve .grid { stroke: var(--grid); } .promptpack-curve .paper { fill: var(--paper); }
  .promptpack-curve .line { fill: none; stroke: var(--line); stroke-width: 2.5; }
  .promptpack-curve .range { stroke: var(--line); stroke-width: 1.5; }
  .promptpack-curve .point { fill: var(--line); }
  .promptpack-curve .base { stroke: var(--base); stroke-dasharray: 6 4; stroke-width: 1.5; }
  .promptpack-curve .baseline { fill: var(--base); }
"""


def svg(found: Calibration) -> str:
    """Return the drawing: the mean at each place with the interval of the curve's shape, and that without the passage.

    It has a title and a description for those who cannot see it, and follows light and dark screens.
    """
    table = found.table()
    base = found.baseline().mean
    unit = 1.0 if found.measure == "exact" else max(found.means()) - base  # of p, in the units of the measure
    spans = [_span(one, unit) for one in table]
    low = min([base, *(one[0] for one in spans)])
    high = max(one[1] for one in spans)
    ticks = _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])

    def across(x: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * x

    def down(y: float) -> float:
        return _TOP + (HEIGHT - _TOP - _BOTTOM) * (high - y) / (high - low or 1)

    name = escape(f"{found.model}: {HEADS[found.measure]} by the place of the passage")
    told = escape(
        f"{len(found.values)} questions, {found.passages} passages; "
        + "; ".join(f"at {one.x:.2f}: {one.estimate.mean:.3f}" for one in table) + f"; without the passage: {base:.3f}"
    )
    parts = [
        (f'<svg class="promptpack-curve" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="curve-title curve-told"><title id="curve-title">{name}</title>'
        f'<desc id="curve-told">{told}</desc><style>{_STYLE}</style>'),
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text x="{_LEFT}" y="24" font-weight="600">{name}</text>',
        (f'<text class="dim" x="{_LEFT}" y="43">{len(found.values):,} questions, {found.passages} passages; '
        "bars: 95 %, of the shape of the curve</text>"),
    ]
    for tick in ticks:
        y = down(tick)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="dim" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_short(tick)}</text>')
    for x, said in ((0.0, "first"), (0.5, "middle"), (1.0, "last")):
        anchor = {0.0: "start", 0.5: "middle", 1.0: "end"}[x]
        parts.append(
            f'<text class="dim" x="{across(x):.1f}" y="{HEIGHT - _BOTTOM + 22}" text-anchor="{anchor}">{said}</text>'
        )
    parts.append(
        f'<text class="dim" x="{across(0.5):.1f}" y="{HEIGHT - 16}" text-anchor="middle">'
        "relative position of the passage, by tokens</text>"
    )
    y = down(base)
    parts.append(f'<line class="base" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
    parts.append(
        f'<text class="baseline" x="{WIDTH - _RIGHT}" y="{y - 6:.1f}" text-anchor="end">without the passage</text>'
    )
    line = " ".join(f"{across(one.x):.1f},{down(one.estimate.mean):.1f}" for one in table)
    parts.append(f'<polyline class="line" points="{line}"/>')
    for one, (bottom, top) in zip(table, spans, strict=True):
        x = across(one.x)
        parts.append(f'<line class="range" x1="{x:.1f}" x2="{x:.1f}" y1="{down(bottom):.1f}" y2="{down(top):.1f}"/>')
        parts.append(f'<circle class="point" cx="{x:.1f}" cy="{down(one.estimate.mean):.1f}" r="4"/>')
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _span(one: Place, unit: float) -> tuple[float, float]:
    """Return the interval of the shape in the units of the measure."""
    return one.estimate.mean + (one.low - one.p) * unit, one.estimate.mean + (one.high - one.p) * unit


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers from below `low` to above `high`, four to ten of them."""
    size = high - low or 1.0
    step = next(
        one * 10.0**power for power in range(-9, 12) for one in (1, 2, 5) if size / (one * 10.0**power) <= 6
    )
    first = int(low // step)
    return [number * step for number in range(first, int(-(-high // step)) + 1)]


def _short(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")


def html(found: Calibration) -> str:
    """Return a page with the drawing, the tables and the remarks."""
    name = escape(f"{found.model}: use of a passage by its place")
    tables = "\n".join(_table(part) for part in found.to_markdown().split("\n\n"))
    remarks = "".join(f"<li>{escape(one)}</li>" for one in (found.note(), *found.remarks))
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{name}</title>
<style>
  :root {{ color-scheme: light dark; }}
  body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }}
  svg {{ width: 100%; height: auto; }}
  .scroll {{ overflow-x: auto; }}
  table {{ border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }}
  th, td {{ padding: .25rem .6rem; border-bottom: 1px solid #8885; text-align: right; white-space: nowrap; }}
  th:first-child, td:first-child {{ text-align: left; }}
</style></head>
<body><h1>{name}</h1>
{svg(found)}{tables}
<ul>{remarks}</ul>
</body></html>
"""


def _table(markdown: str) -> str:
    lines = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in markdown.splitlines()]
    head, body = lines[0], lines[2:]
    rows: Sequence[str] = [
        f"<tr><th scope='row'>{escape(cells[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in cells[1:])}</tr>"
        for cells in body
    ]
    top = "".join(f"<th scope='col'>{escape(cell)}</th>" for cell in head)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
