"""The atlas: its data, made by the sweeps of ``examples/atlas``, and its page and pictures, made of the data."""
