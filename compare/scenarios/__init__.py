"""Read scenarios for the installed systems, list their variants, and run one variant from beginning to end."""
