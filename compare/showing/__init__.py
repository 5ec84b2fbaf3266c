"""What people see: the console, the documents, one HTML kit, pictures. Nothing here computes a figure."""
