"""What answers a page: requests to the engine, events to messages, values to pictures."""
