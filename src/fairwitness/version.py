"""The version, in a file of its own so that building needs to import nothing."""

__version__ = "0.1.0"
