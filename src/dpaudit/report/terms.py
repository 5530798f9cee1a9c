"""The terms of a page: short texts that link them, and the glossary of those that were used."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dpaudit.report.figures.canvas import needed

_TERM = re.compile(r"\[([^\]|]+)(?:\|([^\]]+))?\]")
_LINK = re.compile(r'href="#term-([^"]+)"')

GLOSSARY = {
    "alpha": (
        "The chance of a false accusation that was accepted before the audit began: if the claim "
        "holds, the audit says otherwise with at most this probability."
    ),
    "canary": (
        "A record made for an audit of a training. A fair coin decides whether it takes part."
    ),
    "certified": (
        "Shown by the draws themselves, except with a small chance that is named. A certified "
        "bound is a lower bound: at least that much leaks."
    ),
    "claim": (
        "What the mechanism promises: a limit on how much its output may depend on the data of "
        "one person or record."
    ),
    "delta": (
        "A probability that a claim leaves over: with it, outcomes may be likelier than epsilon "
        "allows."
    ),
    "draw": "One run of the mechanism on a dataset, with fresh randomness, and what came out.",
    "epsilon": (
        "The main number of a claim: no outcome may be more than e^epsilon times as likely on one "
        "dataset as on its neighbour. Smaller is more private."
    ),
    "event": 'A statement about an output that is true or false, such as "output > 1".',
    "evidence": (
        'How unlikely it is under the claim to see so much speak against it: "1 in 1,000" comes '
        "up by chance with a probability of at most a thousandth if the claim holds."
    ),
    "held out": (
        "Kept aside while the test was being chosen. What is counted on such outputs had no say "
        "in the choice, so it cannot flatter it."
    ),
    "loss": (
        "Of something that came out: the logarithm of how many times as likely it is on one "
        "dataset as on the other. A loss of 1 is e = 2.72 times."
    ),
    "mechanism": "The code that was audited: it takes a dataset and returns a random output.",
    "neighbours": (
        "Two datasets that the claim says must look alike in the output, usually because they "
        "differ in one record or one person."
    ),
    "pair": "Two neighbouring datasets, called A and B, on which the mechanism was run.",
    "release": "A random number that the code drew with noise and used from then on.",
    "score": (
        "A number for a canary, computed from what the training released: the larger, the "
        "likelier the canary took part."
    ),
    "transcript": "All releases of one run of the code, in their order.",
    "wealth": (
        "What 1 has become after all bets against the claim. If the claim holds, the wealth "
        "reaches 1,000 with a probability of at most a thousandth, and so on."
    ),
}
_OTHER_FORMS = {
    "neighbouring datasets": "neighbours",
    "neighbour": "neighbours",
    "canaries": "canary",
    "losses": "loss",
}


def linked(text: str, **values: object) -> Any:
    """A text as HTML: `[term]` and `[words|term]` lead to the glossary, `{name}` is a value.

    >>> print(linked("Each [draw] of {name}.", name="<b>"))
    Each <a href="#term-draw">draw</a> of &lt;b&gt;.
    """
    markup = needed("markupsafe")
    safe = _TERM.sub(_anchor, str(markup.escape(text)))
    return markup.Markup(safe).format(**values)


def _anchor(found: re.Match[str]) -> str:
    words, named = found.groups()
    term = named or _OTHER_FORMS.get(words.lower(), words.lower())
    key = term if term in GLOSSARY else term.removesuffix("s")
    if key not in GLOSSARY:
        raise KeyError(f"{key!r} is not in the glossary of the page.")
    return f'<a href="#term-{_anchor_of(key)}">{words}</a>'


def _anchor_of(term: str) -> str:
    return term.replace(" ", "-")


def glossary_of(texts: Iterable[object]) -> list[tuple[str, str, str]]:
    """The terms that some texts link to: the anchor of each, the term and what it means."""
    used = {anchor for text in texts for anchor in _LINK.findall(str(text))}
    return [
        (_anchor_of(term), term, meaning)
        for term, meaning in GLOSSARY.items()
        if _anchor_of(term) in used
    ]
