"""Where runs are kept: SQLite, PostgreSQL, memory."""
