"""The console of every verb: tables and JSON, options that name files, exit codes and signals."""
