"""torch's losses and optimisers."""
