"""What is kept of the past: retention, hard links, VACUUM, and logs that are repaired."""
