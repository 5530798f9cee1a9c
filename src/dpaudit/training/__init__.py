"""Audits of a training by canaries: one run, many runs, or step by step."""
