"""What a plugin may provide, and the manager that finds it."""
