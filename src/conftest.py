"""The examples of an adapter run where its library is installed."""

from importlib.util import find_spec

_LIBRARIES = {"opendp": "opendp", "diffprivlib": "diffprivlib", "dp_accounting": "dp_accounting"}

collect_ignore = [
    f"dpaudit/adapters/{file}.py"
    for file, library in _LIBRARIES.items()
    if find_spec(library) is None
]
