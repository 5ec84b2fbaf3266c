"""What is said in words about runs and groups: verdicts with their figures, headlines, why a figure is missing."""
