"""What the catalogue of all layers holds, in the form in which the checker takes it."""
from ..catalogue import EXAMPLES


def catalogue():
    """{title: (layer, inputs, options)}."""
    return {title: (example.layer(), example.inputs, example.options) for title, example in EXAMPLES.items()}
