"""Every error and warning that dpaudit raises. All errors share one base class.

>>> issubclass(InvalidClaim, DPAuditError) and issubclass(InvalidClaim, ValueError)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpaudit.results import Audit


class DPAuditError(Exception):
    """The base class of all errors that dpaudit raises on purpose."""


class InvalidClaim(DPAuditError, ValueError):
    """The claim makes no sense: a negative epsilon, a delta of 2, a profile that increases."""


class InvalidDomain(DPAuditError, ValueError):
    """The domain holds no record, or the data do not belong to it."""


class InvalidRelation(DPAuditError, ValueError):
    """The relation has no pair, or a pair does not belong to it."""


class InvalidMechanism(DPAuditError, ValueError):
    """The mechanism cannot be called or cannot be found."""


class InvalidOutput(DPAuditError, ValueError):
    """The mechanism did not return one output per draw, or returned one that cannot be read."""


class WrongLength(InvalidOutput):
    """The mechanism returned more or fewer outputs than it was asked for."""


class UnexpectedExit(DPAuditError, ValueError):
    """The audited code raised an exception that ends a process, such as `SystemExit`."""


class MechanismDied(DPAuditError, RuntimeError):
    """The mechanism ended its process, or did not return; no output is left out because of that."""


class CannotUseStore(DPAuditError, ValueError):
    """The store holds the draws of another audit, is in use, or is not a store."""


class DependentDraws(DPAuditError, ValueError):
    """The draws of the mechanism depend on each other, so nothing can be concluded from them."""


class UnsupportedClaim(DPAuditError, TypeError):
    """The tester's divergence says nothing about this kind of claim."""


class Underpowered(DPAuditError, ValueError):
    """With these settings the tester could never refute its claim, whatever the outputs."""


class InvalidSamples(DPAuditError, ValueError):
    """The two samples cannot be compared: not one output per draw, or too few of them."""


class InvalidCanaries(DPAuditError, ValueError):
    """The plan of the canaries, or the file it was saved in, cannot be used."""


class CannotReplay(DPAuditError, ValueError):
    """The counterexample lacks something that a replay needs."""


class CannotFollow(DPAuditError, RuntimeError):
    """The audited code does something with its noise that an audit inside does not follow."""


class InvalidAuditFile(DPAuditError, ValueError):
    """The file or JSON value is not an audit that this version of dpaudit can read."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class CannotPrint(DPAuditError, RuntimeError):
    """There is no browser that could print a page as a PDF, or it failed."""


class PrivacyViolation(DPAuditError, AssertionError):
    """The mechanism does not keep its claim; the message says how that was shown.

    `audit` is the whole audit, an `Audit` or an `InsideAudit`. `kept` is the file that keeps its
    counterexample for the next test run, if there is one.
    """

    __module__ = "dpaudit"  # as users know it

    def __init__(self, message: str, audit: Audit | Any, kept: str | None = None) -> None:
        super().__init__(message)
        self.audit = audit
        self.kept = kept

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.audit, self.kept)  # it may come from another process


class Inconclusive(DPAuditError, AssertionError):
    """The audit did not give what its test asks for: a verdict, enough power, or a refutation.

    `audit` is the whole audit, an `Audit` or an `InsideAudit`.
    """

    __module__ = "dpaudit"  # as users know it

    def __init__(self, message: str, audit: Audit | Any) -> None:
        super().__init__(message)
        self.audit = audit

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.audit)  # it may come from another process


class HealthWarning(UserWarning):
    """Something about the mechanism looks like a mistake; the audit continues."""


class SlowMechanism(HealthWarning):
    """The default number of draws will take long; nobody has set a limit."""


def printable(text: str) -> str:
    """Text that can be printed: half a character is written as its number.

    >>> print(printable("a" + chr(0xD800)))
    a\\ud800
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
