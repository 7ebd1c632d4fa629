"""At home in other frameworks: what their retrievers return becomes sources, and promptpack a component of theirs.

In: `from_langchain`, `from_llamaindex`, `from_haystack`, `from_langgraph_state`, `from_vercel_ai` for frameworks;
`from_qdrant`, `from_chroma`, `from_pinecone`, `from_pgvector_rows`, `from_vector_store_rows`, `from_mappings` for
stores. All go by the shape of what they are given, import no framework, and return a tuple of `Source`s, in the order
of the input. A number that is a distance (lower is better) has to be declared with `distance`; its source's score is
then its negative, so that the nearest ranks first, and `min_score=-0.5` means a distance of at most 0.5.

Out: `promptpack.adapters.langchain`, `.llamaindex` and `.haystack` hold components of these frameworks. Each module
imports its framework, and nothing else does.

    >>> [source.score for source in from_langchain([({"page_content": "Near."}, 0.1)], distance=True)]
    [-0.1]
"""

from __future__ import annotations

from promptpack.adapters.frameworks import (
    from_haystack,
    from_langchain,
    from_langgraph_state,
    from_llamaindex,
    from_vercel_ai,
)
from promptpack.adapters.stores import (
    from_chroma,
    from_mappings,
    from_pgvector_rows,
    from_pinecone,
    from_qdrant,
    from_vector_store_rows,
)

__all__ = [
    "from_chroma",
    "from_haystack",
    "from_langchain",
    "from_langgraph_state",
    "from_llamaindex",
    "from_mappings",
    "from_pgvector_rows",
    "from_pinecone",
    "from_qdrant",
    "from_vector_store_rows",
    "from_vercel_ai",
]
