"""What people see: folds of events into tables, frames and snapshots."""
