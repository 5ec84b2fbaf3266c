"""What every verb does at the console: tables and JSON, options that name files, how a command ends."""
