"""From cases to attempts: the queue, the workers, the task, the journal, and the report at the end."""
