"""The Delta log: its actions, checkpoints, and what stands at a version."""
