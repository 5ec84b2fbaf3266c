"""The verb `audit`: read the output of admin tools, judge every group, list the worst first."""
