"""The verb `sweep`: a grid of groups or scenarios, computed on Spark."""
