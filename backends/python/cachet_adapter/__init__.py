"""Everything an adapter needs to speak cachet's protocol for an engine driven from Python.
An author subclasses `Engine`, lists `Configuration`s and calls `serve`; the standard library is all this package uses."""

from .engine import Configuration, Engine, Generated, Refused
from .serve import serve
from .wire import claim_stdio

__all__ = ["Configuration", "Engine", "Generated", "Refused", "claim_stdio", "serve"]
