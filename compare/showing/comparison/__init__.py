"""The comparison for people: the document, tables, stories, and one HTML file."""
