"""Doors to the outside: they translate, and never decide."""
