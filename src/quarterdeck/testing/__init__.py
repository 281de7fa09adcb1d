"""Verified stand-ins for the outside, for tests, demos and users: a scripted model and a provider with faults."""
