"""The verb `sweep`: a grid of groups or scenarios, computed by processes of this machine or by Spark."""
