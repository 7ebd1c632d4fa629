"""What all tests have in common."""

from __future__ import annotations

from hypothesis import settings

# A busy machine takes any time for an example; how work grows is tested by itself.
settings.register_profile("promptpack", deadline=None)
settings.load_profile("promptpack")
