"""Testers: from outputs of two sides to evidence against a claim."""
