"""Other libraries' arrays and functions. Nothing here imports torch unless torch's objects are met."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name != "torch":
        raise AttributeError(f"module 'tiga.interop' has no attribute {name!r}")
    import importlib

    return importlib.import_module(".torch", __name__)
