"""Measuring what a model makes of a passage by its place, and which of several builders suits it better.

It asks an OpenAI-compatible endpoint, over httpx (the extra `calibrate`); nothing here is loaded by rendering.

    from promptpack.calibration import Asking, Endpoint, calibrate, plan

    found = calibrate(Endpoint("http://localhost:8000/v1", "my-model"), plan(rows, PromptBuilder(window=8192)))
    found.curve().save("curve.json")
"""

from __future__ import annotations

from promptpack.calibration.asking import Asking
from promptpack.calibration.compare import Comparison, compare_builders
from promptpack.calibration.endpoint import Endpoint
from promptpack.calibration.errors import CalibrationError, EndpointError
from promptpack.calibration.figures import read_figures, write_figures
from promptpack.calibration.forms import ChatForm
from promptpack.calibration.measure import Cost, Plan, calibrate, cost, plan
from promptpack.calibration.questions import Question, read_questions
from promptpack.calibration.result import Calibration

__all__ = [
    "Asking", "Calibration", "CalibrationError", "ChatForm", "Comparison", "Cost", "Endpoint", "EndpointError", "Plan",
    "Question", "calibrate", "compare_builders", "cost", "plan", "read_figures", "read_questions", "write_figures",
]
