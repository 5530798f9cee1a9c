"""Formulas as MathML, which browsers draw themselves: no script and nothing from the network."""

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

LOGGER = logging.getLogger(__name__)


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """A formula within a line."""
    translator.body.append(formula(node))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """A formula of its own; wide ones scroll in their box."""
    translator.body.append(f'<div class="formula">{formula(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def formula(node: nodes.Element, *, as_block: bool = False) -> str:
    """The formula; one that docutils cannot read is a warning, which ends the build."""
    try:
        return str(tex2mathml(node.astext(), as_block=as_block))
    except MathError as error:
        LOGGER.warning("%s In the formula: %s", error, node.astext(), location=node)
        return ""


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the renderer to Sphinx."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
