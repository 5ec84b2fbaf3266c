"""The comparison as one HTML file that a person enjoys: no network, no time stamp, equal bytes for equal runs."""
