"""From names to Delta tables: sources, views, a lake's folders, texts pinned to versions."""
