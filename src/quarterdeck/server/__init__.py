"""HTTP: requests become actions, events become frames."""
