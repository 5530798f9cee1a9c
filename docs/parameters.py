"""What a parameter means, said once for all functions of the reference that take it.

Docstrings explain parameters in prose. This adds them as a list too, before the example, and Sphinx
adds their types from the annotations. A parameter that is not here is listed with its type alone.
"""

import inspect
from collections.abc import Iterator

from sphinx.application import Sphinx

MEANINGS = {
    "accountant": "makes a budget accountant of epsilon and delta.",
    "alpha": "the largest probability of refuting a claim that holds, or of a bound that is wrong.",
    "claim": "what is promised, for example `PureDP(1.0)`.",
    "data": "one dataset of the pair (A in reports).",
    "domain": "what one record may be.",
    "finder": "what proposes the pairs: a name, or an object with `ask` and `tell`.",
    "floats": "`'bits'` also looks at how floats are rounded; `'real'` does not.",
    "found": "the counterexample to count again.",
    "function": "a function that returns one output per call.",
    "high": "the largest value.",
    "low": "the smallest value.",
    "max_length": "the most entries of a list.",
    "max_records": "the most records of a dataset.",
    "max_rows": "the most rows of one user.",
    "max_users": "the most users of a dataset.",
    "mechanism": "the code to audit: a function `f(data, size, rng)`, or an object of a library.",
    "min_length": "the fewest entries of a list.",
    "min_records": "the fewest records of a dataset.",
    "min_users": "the fewest users of a dataset.",
    "neighbour": "the other dataset of the pair (B in reports).",
    "neighbour_outputs": "the outputs on the other dataset, one per draw.",
    "neighbours": "which pairs of datasets count: a relation, or a list of pairs.",
    "on_error": "`'output'` counts an error as an output; `'raise'` ends with the first error.",
    "outputs": "the outputs on one dataset, one per draw.",
    "pair": "the pair to start from.",
    "path": "the file to read.",
    "progress": "a function that is called with the progress several times a second.",
    "records": "what one record may be, if the object does not say.",
    "rng": "a seed or a generator; the same seed gives the same result.",
    "samples": "the most draws of the mechanism, both datasets together.",
    "seconds": "the most time that it may take.",
    "tester": "what turns outputs into evidence; bets by default.",
    "user": "the field that names the user of a row.",
}


def listed(parameters: list[str]) -> Iterator[str]:
    """The known ones among these parameters, as fields of a docstring."""
    for name in parameters:
        if name in MEANINGS:
            yield f":param {name}: {MEANINGS[name]}"


def add_parameters(
    app: Sphinx, what: str, name: str, documented: object, options: object, lines: list[str]
) -> None:
    """Put the list of parameters before the example of a function."""
    if what != "function" or not callable(documented):
        return
    fields = list(listed(list(inspect.signature(documented).parameters)))
    if fields:
        example = next((n for n, line in enumerate(lines) if line.startswith(">>>")), len(lines))
        lines[example:example] = ["", *fields, ""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen to what autodoc reads."""
    app.connect("autodoc-process-docstring", add_parameters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
