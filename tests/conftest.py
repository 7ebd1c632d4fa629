"""What all tests have in common."""

from __future__ import annotations

from hypothesis import settings

# The same examples in every run and on every machine, so that a clone that passes goes on passing. New ones are tried
# with `pytest --hypothesis-profile=explore`; what they find becomes an @example. A busy machine takes any time for one;
# how work grows is tested by itself.
settings.register_profile("promptpack", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("promptpack")
