"""The agents of a board that we drive: woken, set to work, and heard."""
