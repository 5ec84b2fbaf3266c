"""The layer that skips quiet times of a simulation from outside: kernel and nodes know nothing of it (`contract`)."""
