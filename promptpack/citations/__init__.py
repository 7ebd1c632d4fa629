"""From an answer back to its sources: reading citations and checking them, on plain texts and mappings."""

from promptpack.citations.parse import Citation, Malformed, Marks, parse_citations, read_marks
from promptpack.citations.verify import Passage, Verification, verify_citations

__all__ = [
    "Citation", "Malformed", "Marks", "Passage", "Verification", "parse_citations", "read_marks",
    "verify_citations",
]
