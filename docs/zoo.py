"""The tables of the zoo, made when the site is built: `{zoo} honest` and `{zoo} broken`."""

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dpaudit.zoo import ZOO, ZooEntry


class Zoo(SphinxDirective):
    """A table of the mechanisms that keep their claim, or of those that do not."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        honest = directives.choice(self.arguments[0], ("honest", "broken")) == "honest"
        heads = ["mechanism", "claim", "true epsilon", "source" if honest else "bug and source"]
        rows = [cells(entry) for entry in ZOO.values() if entry.keeps_claim is honest]
        lines = ["| " + " | ".join(row) + " |" for row in (heads, ["---"] * len(heads), *rows)]
        return self.parse_text_to_nodes("\n".join(lines))


def cells(entry: ZooEntry) -> list[str]:
    """One row of a table, in Markdown."""
    epsilon = "unknown" if entry.true_epsilon is None else f"{entry.true_epsilon:.4g}"
    origin = f"{entry.bug} *{entry.source}*" if entry.bug else entry.source
    return [f"`{entry.name}`", str(entry.claim), epsilon, origin]


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the directive to Sphinx."""
    app.add_directive("zoo", Zoo)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
