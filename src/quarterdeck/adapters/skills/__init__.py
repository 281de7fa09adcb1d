"""Skills as folders with a SKILL.md: ours, the user's, a workspace's."""
