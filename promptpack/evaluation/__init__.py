"""Measuring what a packing does: where the evidence stands, and whether it is there at all."""

from __future__ import annotations

from promptpack.evaluation.position import (
    answer_in_window,
    chunk_positions,
    edge_distance,
    mean_edge_distance,
    use_probability,
)

__all__ = ["answer_in_window", "chunk_positions", "edge_distance", "mean_edge_distance", "use_probability"]
