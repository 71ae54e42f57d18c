"""The command line: one file per verb. Each parses, calls the function that the library offers, and prints."""
