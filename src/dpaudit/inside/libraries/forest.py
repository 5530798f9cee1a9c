"""diffprivlib's trees: every leaf is a release, also one without records.

The library draws the label of an empty leaf uniformly, from the tree's own random state, and that
of any other by permute and flip. Of equal scores both are the same law. So one release for each
leaf, in the order of the nodes, follows a tree exactly where a record makes a leaf empty.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpaudit.inside.libraries.hooking import Replaced, following
from dpaudit.inside.recording import Recorder

VERSIONS = ("0.6.6",)  # of diffprivlib, whose method this is; others are followed leaf by leaf


def hook(module: Any) -> Iterator[Replaced]:
    """The method that labels the leaves."""
    if getattr(sys.modules.get("diffprivlib"), "__version__", None) in VERSIONS:
        fit = module._FittingTree.fit

        def follow(recorder: Recorder, tree: Any, rows: Any, labels: Any) -> Any:
            return _labelled(module.PermuteAndFlip, tree, rows, labels) if tree.nodes else fit(tree)

        yield Replaced(module._FittingTree, "fit", following(fit, follow))


def _labelled(mechanism: Any, tree: Any, rows: Any, labels: Any) -> Any:
    """`_FittingTree.fit`, with zeros as the scores of an empty leaf."""
    leaves = tree.apply(rows)
    values = np.zeros((tree.node_count, 1, len(tree.classes)))
    for node in tree.nodes:
        if node.left_child == tree._TREE_LEAF:
            inside = labels[leaves == node.node_id]
            counts = [np.sum(inside == label) for label in tree.classes]
            choice = mechanism(epsilon=tree.epsilon, sensitivity=1, monotonic=True, utility=counts)
            values[node.node_id, 0, choice.randomise()] = 1
    tree.values_ = values
    return tree
