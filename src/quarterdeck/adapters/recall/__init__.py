"""Models that tell how near in meaning two texts are."""
