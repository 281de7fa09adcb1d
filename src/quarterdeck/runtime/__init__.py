"""The hands: they wait, and do what the engine decides, through ports."""
