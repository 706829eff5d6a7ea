from .core import (
    Engine as Engine,
    lake_folder as lake_folder,
)
from .create import (
    Created as Created,
)
from .upstream_refresh import (
    failure_of as failure_of,
)
