"""Which code a mechanism is: its source, its package, and the commit it lies in.

What cannot be known is None: code that was typed in has no source, and not all code is in git.
"""

from __future__ import annotations

import hashlib
import inspect
import linecache
import os
import sys
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from types import ModuleType
from typing import Any

from dpaudit.mechanism.calling import Mechanism, inside_of
from dpaudit.mechanism.git import Commit, commit_of
from dpaudit.outputs import without_addresses

_PLAIN = (bool, int, float, complex, str, bytes)  # types of constants that nothing changes
_OURS = ("dpaudit.integrations.", "dpaudit.training.")  # what calls an object of a library
_INSTALLED = frozenset({"site-packages", "dist-packages"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCode:
    """Which code was audited.

    `function` and `module` are SHA-256 digests of their sources, `package` the installed package
    and its version, `commit` that of the git tree the code lies in. The tree was `clean` if no file
    in it was changed and git knew every Python file.

    >>> from dpaudit.mechanism import as_mechanism
    >>> from dpaudit.zoo import LaplaceCount
    >>> code = audited_code(as_mechanism(LaplaceCount(0.5)))
    >>> len(code.function), len(code.module), code.package.split()[0]
    (64, 64, 'dpaudit')
    """

    function: str | None = None
    module: str | None = None
    package: str | None = None
    commit: str | None = None
    clean: bool | None = None


NO_CODE = AuditedCode()  # of samples and scores that were made elsewhere


def audited_code(source: object) -> AuditedCode:
    """Say which code a mechanism is, as far as can be known; nothing of samples in hand."""
    if not (isinstance(source, Mechanism) or callable(source)):
        return NO_CODE
    defined = _defined(source.function if isinstance(source, Mechanism) else source)
    function, file = _source_of(defined), _file_of(defined)
    module = sys.modules.get(getattr(defined, "__module__", None) or "")
    known = _commit(file)
    return AuditedCode(
        function=None if function is None else digest_of_source(function),
        module=None if file is None else _module_digest(file, module),
        package=_package(getattr(defined, "__module__", None) or "", file),
        commit=None if known is None else known.name,
        clean=None if known is None else known.clean,
    )


def file_of(mechanism: Mechanism) -> Path | None:
    """The file that a mechanism is defined in, if there is one on disk."""
    file = _file_of(_defined(mechanism.function))
    return Path(file).resolve() if file is not None and os.path.isfile(file) else None


def digest_of_source(text: str) -> str:
    """The SHA-256 digest of a source, whatever its line ends.

    >>> digest_of_source("a\\r\\n") == digest_of_source("a\\n")
    True
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


def _defined(function: Any) -> Any:
    """The function or the class whose code is audited."""
    while True:
        function = inside_of(function)
        if isinstance(function, partial):
            called = function.func
            ours = (getattr(called, "__module__", None) or "").startswith(_OURS)
            theirs = [each for each in function.args if _may_be_code(each)] if ours else []
            function = theirs[0] if theirs else called
        elif type(function).__module__.startswith(_OURS) and hasattr(function, "train"):
            function = function.train  # the user's, in an object of ours
        else:
            break
    own = inspect.isroutine(function) or inspect.isclass(function)
    return inspect.unwrap(function) if own else type(function)


def _may_be_code(value: Any) -> bool:
    """Whether a value is an object of a library, and not a number or a setting."""
    return callable(value) or type(value).__module__ != "builtins"


def _source_of(defined: Any) -> str | None:
    file = _file_of(defined)
    linecache.checkcache(file)
    text = "" if file is None else "".join(linecache.getlines(file))
    return _source_in(getattr(defined, "__code__", defined), text)


@lru_cache(maxsize=64)  # to look for a class in a long file takes longer than a small audit
def _source_in(defined: Any, file: str) -> str | None:
    """The source of a class or of some code, with the text of its file as it is now."""
    try:
        return inspect.getsource(defined)
    except (OSError, TypeError, ValueError, SyntaxError):  # compiled, or typed in
        return None


def _file_of(defined: Any) -> str | None:
    try:
        return inspect.getsourcefile(defined)
    except (OSError, TypeError):
        return None


def _module_digest(file: str, module: ModuleType | None) -> str | None:
    lines = linecache.getlines(file, None if module is None else vars(module))
    return digest_of_source("".join(lines)) if lines else None


def _commit(file: str | None) -> Commit | None:
    """The commit of the tree that a file lies in; an installed package is in none."""
    if file is None or not os.path.isfile(file):
        return None
    folder = Path(file).resolve().parent
    return None if _INSTALLED & {*folder.parts} else commit_of(folder)


@cache
def _package(module: str, file: str | None) -> str | None:
    """The installed package of a module and its version."""
    top = module.partition(".")[0]
    if not top or top in sys.stdlib_module_names or top == "__main__":
        return None
    try:
        return f"{top} {version(top)}"
    except PackageNotFoundError:
        pass
    if file is not None and not _INSTALLED & {*Path(file).parts}:
        return None  # not installed: nothing to look for
    names = packages_distributions().get(top, [])  # reads the files of all packages
    return f"{names[0]} {version(names[0])}" if len(names) == 1 else None


def code_of(mechanism: Mechanism) -> dict[str, str]:
    """What tells the code of a mechanism from other code: name, target, source and parameters.

    >>> from dpaudit.mechanism import as_mechanism
    >>> sorted(code_of(as_mechanism(lambda data, size: [0] * size)))
    ['mechanism', 'parameters', 'source', 'target']
    """
    function = inside_of(mechanism.function)
    own = inspect.isroutine(function) or inspect.isclass(function)
    source = _source_of(inspect.unwrap(function) if own else type(function))
    return {
        "mechanism": mechanism.name,
        "target": mechanism.target or "",
        "source": hashlib.sha256(source.encode()).hexdigest()[:16] if source else "",
        "parameters": without_addresses(repr(function)) + _constants_of(function),
    }


def _constants_of(function: Any) -> str:
    """The plain values that a function takes from outside: of the same source, other code."""
    try:
        outside = inspect.getclosurevars(inspect.unwrap(function))
    except TypeError:  # no function of Python
        return ""
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
    }
    found = {**outside.globals, **outside.nonlocals, **defaults}
    plain = {name: found[name] for name in sorted(found) if type(found[name]) in _PLAIN}
    return f" {plain}" if plain else ""
