from .upkeep import (
    Keeper as Keeper,
    Pins as Pins,
    Storage as Storage,
    Vacuum as Vacuum,
)
