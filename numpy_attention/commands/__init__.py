"""The command line, one file a command. It alone knows all other packages; nothing imports it but __main__."""
