"""The option `compare --advise`: settings near the given ones over the same seeds, and what to choose when."""
