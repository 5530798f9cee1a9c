"""What an audit ran on: the packages whose versions can change its draws and its sums."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from platform import python_version

PACKAGES = ("numpy", "scipy", "scikit-learn")


@cache
def software_in_use() -> tuple[tuple[str, str], ...]:
    """Python and the packages that audits count with, each with its version.

    >>> [name for name, _ in software_in_use()]
    ['python', 'numpy', 'scipy', 'scikit-learn']
    """
    return ("python", python_version()), *((name, _version(name)) for name in PACKAGES)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # copied into another program, without its metadata
        return "unknown"
