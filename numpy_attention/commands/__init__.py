"""The command line, one file a command. This room alone knows all others; nothing imports it but __main__."""
