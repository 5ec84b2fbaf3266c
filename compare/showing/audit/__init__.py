"""The audit for people: tables, and one HTML file."""
