"""The verb `serve`, and what it shares with the pytest fixtures: real clients before this package's brokers, their
groups told as those of a simulation are."""
