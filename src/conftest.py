"""The examples of an adapter run where its library is installed."""

from importlib.util import find_spec

_LIBRARIES = (
    "opendp",
    "diffprivlib",
    "dp_accounting",
    "pure_ldp",
    "multi_freq_ldpy",
    "python_dp",
    "tumult",
    "pipeline_dp",
    "opacus",
    "jax_privacy",
)
_IMPORTED_AS = {"python_dp": "pydp", "tumult": "tmlt"}

collect_ignore = [
    f"dpaudit/integrations/{name}.py"
    for name in _LIBRARIES
    if find_spec(_IMPORTED_AS.get(name, name)) is None
]
collect_ignore += [
    f"dpaudit/training/{name}.py" for name in ("opacus", "jax_privacy") if find_spec(name) is None
]
