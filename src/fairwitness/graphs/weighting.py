"""Weights of the training loss, from the training part only: by class, and by sensitive group.

Class weights are n/(C·n_c). Group weights are Kamiran and Calders' reweighing P(g)P(y)/P(g,y), to a power that sets its
strength: 0 leaves the loss as it is, 1 makes group and label independent in the weighted training part.
"""

import numpy as np

from fairwitness.graphs.user_graph import Array


def class_weights(labels: Array, n_classes: int) -> Array:
    """One weight a class. A class that never occurs in training has 0: nothing is ever weighted with it.

    >>> class_weights(np.array([0, 0, 1, 1, 1, 2]), 3).round(3).tolist()
    [1.0, 0.667, 2.0]
    """
    counts = np.bincount(labels, minlength=n_classes)
    return np.divide(len(labels), n_classes * counts, out=np.zeros(n_classes), where=counts > 0)


def group_weights(labels: Array, groups: Array, strength: float) -> Array:
    """One weight a row: (P(g)P(y)/P(g,y))^strength; 1 where the group is missing (−1).

    >>> group_weights(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), 1.0).tolist()
    [0.75, 0.75, 1.5, 0.5]
    """
    weights = np.ones(len(labels))
    known = groups >= 0
    y, g = labels[known], groups[known]
    cells = np.zeros((g.max(initial=-1) + 1, y.max(initial=-1) + 1))
    np.add.at(cells, (g, y), 1)
    expected = cells.sum(axis=1)[g] * cells.sum(axis=0)[y] / max(len(y), 1)
    weights[known] = (expected / cells[g, y]) ** strength
    return weights
