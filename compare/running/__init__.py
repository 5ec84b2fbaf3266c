"""From a scenario to its variants, to runs, to their records: what is computed of simulated runs."""
