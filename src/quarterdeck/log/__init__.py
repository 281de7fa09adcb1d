"""The memory of the house: facts in order, a tail of the latest, and readers that are no more than a place."""
