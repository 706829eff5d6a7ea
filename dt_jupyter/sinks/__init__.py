"""Changes delivered to other stores exactly once: the materialization protocol, its runtime, and a
driver for each store.

A sink is one `Binding` (target, columns, key, reductions) and a `Task` for each split of its keys
(`hash_ranges(partitions)`). A task is delivered by a `Delivery`:

    address = parse_store_url(url, options)          # no secret in it: references alone
    log, task = CatalogLog(catalog), Task(sink_id, range)
    with Delivery(binding, task, source, log, connector(address)) as delivery:
        for done in delivery.deliver():              # each transaction once the store has it
            ...                                      # Delivered: rows, bytes, seconds, drifted keys

`source` is a `ChangeSource`: `next(checkpoint)` gives the `ChangeInterval` after a checkpoint, or
None. `deliver` ends when there is nothing new, and may be called again. After an error for which
`is_transient` says so a new delivery tries again; after DT-6122 another process has the task; all
other errors wait for a change of the source, the store or the sink. RESET: `forget(…, empty=True)`
of `open_driver(address)`, then `catalog.forget_sink_tasks`; DROP: the same with `empty=False`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
