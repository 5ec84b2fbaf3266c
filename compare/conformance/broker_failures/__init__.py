"""Recordings of servers that fail, of real clusters: `comparing` says what is compared, each system has a file."""
