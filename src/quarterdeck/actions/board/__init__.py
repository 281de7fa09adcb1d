"""Wishes at the board: members, projects, what is said, tasks and the work on them."""
