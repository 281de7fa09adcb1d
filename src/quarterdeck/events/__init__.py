"""The closed vocabulary: what can have happened. Frozen, in the past tense, without behaviour."""
