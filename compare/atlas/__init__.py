"""The atlas of fairness: what sweeps found for thousands of groups, in two small files of the package."""
