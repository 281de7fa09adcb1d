"""The embedded database: its folder, its schema, its store."""
