"""Builds the case on standard input and prints the SHA-256 of its messages: run once a hash seed."""

from __future__ import annotations

import hashlib
import json
import sys

from case_build import build

payload = build(json.load(sys.stdin))
data = json.dumps(payload.to_openai(), ensure_ascii=True).encode("ascii")
sys.stdout.write(hashlib.sha256(data).hexdigest())
