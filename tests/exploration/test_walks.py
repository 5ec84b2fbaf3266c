"""Random stories: found by chance, shrunk, the same for the same seed; judged by the exhaustive search."""
