"""From an answer back to its sources: reading citations and checking them, on plain texts and mappings."""

from promptpack.citations.link import link_citations
from promptpack.citations.parse import Citation, Malformed, Marks, parse_citations, read_marks
from promptpack.citations.quotes import Quotation
from promptpack.citations.rewrite import Rewritten
from promptpack.citations.stream import CitationStream, StreamEvent
from promptpack.citations.support import Claim
from promptpack.citations.verification import CitedSource, Passage, Verification
from promptpack.citations.verify import verify_citations

__all__ = [
    "Citation", "CitationStream", "CitedSource", "Claim", "Malformed", "Marks", "Passage", "Quotation", "Rewritten",
    "StreamEvent", "Verification", "link_citations", "parse_citations", "read_marks", "verify_citations",
]
