"""The examples of an adapter run where its library is installed."""

from importlib.util import find_spec

_LIBRARIES = ("opendp", "diffprivlib", "dp_accounting", "pure_ldp", "multi_freq_ldpy")
_TRAINING = ("opacus", "jax_privacy")

collect_ignore = [
    f"dpaudit/adapters/{name}.py" for name in (*_LIBRARIES, *_TRAINING) if find_spec(name) is None
]
