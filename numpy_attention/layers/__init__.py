"""The layers, one concept a file: open linear, heads, softmax, attention, multi_head for the textbook's path."""
