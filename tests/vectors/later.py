"""What the vectors ask for that a later issue builds: the one list, by number of the issue; empty in the end.

Entries are functions of golden vectors (by system), parts of the cases, whole kinds, and the few single
ids that an issue names. A vector of a function or part that is neither built nor listed here is an error.
"""

from __future__ import annotations

KINDS: dict[str, int] = {}

PARTS: dict[str, int] = {}

IDS: dict[str, int] = {}

# system (without its version) -> issue -> functions; vectors without a system are those of rag-chunk-reorder.
_FUNCTIONS: dict[str, dict[int, str]] = {}

FUNCTIONS = {
    (system, function): issue
    for system, issues in _FUNCTIONS.items()
    for issue, names in issues.items()
    for function in names.split()
}
