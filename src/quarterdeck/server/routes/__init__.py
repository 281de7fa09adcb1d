"""The routes, a file for each resource."""
