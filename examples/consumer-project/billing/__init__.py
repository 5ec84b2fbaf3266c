"""A small service that books records."""
