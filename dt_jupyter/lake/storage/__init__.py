"""Tables that are on no disk of this machine: their files as Hadoop has them, their logs copied."""
