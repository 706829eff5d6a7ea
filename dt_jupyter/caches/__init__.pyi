from .cache_memory import ENTRY_BYTES as ENTRY_BYTES, Cache as Cache, CacheMemory as CacheMemory
from .cached_texts import TEXT_MEMORY as TEXT_MEMORY, text_cache as text_cache
