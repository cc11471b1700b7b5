"""Numbers whose squares no longer fit into their precision: 1e20 in float32, 1e155 in float64."""
import numpy as np


def rms_of_large(x, row, eps):
    """√(mean of x² + eps) over the axes `row`, where x² may be too large: divided by the largest number first."""
    largest = np.abs(x.real).max(axis=row, keepdims=True)
    largest = np.where((largest > 1) & np.isfinite(largest), largest, 1).astype(x.real.dtype)
    scaled = x / largest
    return largest * np.sqrt((scaled * scaled).mean(axis=row, keepdims=True) + eps / largest / largest)
