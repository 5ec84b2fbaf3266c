"""What the reports of `audit` and `compare` share: one file without network, its frame, style and smallest script."""
