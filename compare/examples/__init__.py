"""The verb `examples`: the scenarios and captures that are installed with the package."""
