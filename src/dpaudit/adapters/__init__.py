"""Mechanisms of other libraries, with the claim and the neighbours that they bring themselves.

One file per library. Nothing here imports a library to recognise its objects: whoever has one has
its library.
"""

from dpaudit.adapters.subject import Subject, as_subject, brought_by

__all__ = ["Subject", "as_subject", "brought_by"]
