"""Quarterdeck: an agent workplace you can watch, steer and trust."""

__version__ = "0.1.0"
