"""What people may do: one verb a function. Each checks, then appends."""
