from .extension import (
    adopt as adopt,
    load as load,
    unload as unload,
)
