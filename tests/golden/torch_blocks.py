"""torch's encoder and decoder layers."""
