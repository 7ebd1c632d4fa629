"""The page of a payload that a curve placed draws that curve, and says what the order is worth."""

from __future__ import annotations

from promptpack import Curve, Packing, PositionCurve, PromptBuilder
from promptpack.view.curve import drawing, points

HITS = [f"Text {name} has a few words." for name in "abcdef"]
RISING = PositionCurve([(0, 0.2), (1, 0.9)], model="mine <b>", measure="exact", questions=9)


def test_the_page_draws_the_curve_that_placed_the_sources() -> None:
    payload = PromptBuilder(3000, packing=Packing(place=Curve(RISING))).add_sources(HITS).render()
    page, use = payload.to_html(), payload.report.use
    assert drawing(RISING).path in page
    assert use is not None
    assert f"their expected use is {use.expected:.4f}, and no order has more." in page
    assert "mine &lt;b&gt;" in page
    assert "mine <b>" not in page
    assert "The curve is illustrative" not in page


def test_without_a_curve_the_illustrative_one_is_drawn() -> None:
    page = PromptBuilder(3000).add_sources(HITS).render().to_html()
    assert drawing().path in page
    assert "The curve is illustrative" in page
    assert "expected use" not in page


def test_points_lie_on_the_curve_within_the_drawing() -> None:
    """Also where a curve is level, or goes from 0 to 1."""
    sources = PromptBuilder(3000).add_sources(HITS).render().sources
    for curve in (RISING, PositionCurve([(0, 0.5)]), PositionCurve([(0, 0), (0.5, 1), (1, 0)])):
        drawn = drawing(curve)
        found = points(sources, drawn)
        assert all(0 < float(point.top.rstrip("%")) < 100 for point in found)
        assert next(point.chance for point in found) == f"{curve(0.5 / 6):.0%}"
        assert 1 <= len(drawn.grid) <= 3
