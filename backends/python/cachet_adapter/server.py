"""Answers the protocol's requests within one life. What a request means is decided here and nowhere else."""

import json
import math
import sys
import traceback

from .runner import EngineBroken, Runner

PARSE, REQUEST, METHOD, PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
MODEL_REFUSED, UNKNOWN, BROKEN = -32001, -32002, -32003
DONE, SHUTDOWN = "done", "shutdown"


class RpcError(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Restart(Exception):
    """A life cannot end itself: the request goes to whoever holds the lives."""

    def __init__(self, ident):
        self.ident = ident


class Server:
    """One life: loaded models by handle. describe: name, version and engine, as `initialize` answers them."""

    def __init__(self, describe, configurations, wire, restarts):
        self.describe = describe
        self.configurations = {c.name: c for c in configurations}
        self.wire = wire
        self.restarts = restarts
        self.models = {}
        self.loaded = 0

    def answer(self, line):
        """Answers one line; DONE or SHUTDOWN. Raises Restart where a new life is asked for."""
        ident = None
        try:
            request = parse(line)
            ident = request.get("id")
            result = self.handle(request["method"], request.get("params", {}), ident)
        except RpcError as error:
            self.wire.error(ident, error.code, str(error))
            return DONE
        except (Restart, OSError):  # an OSError here is the wire's: nobody listens
            raise
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            self.wire.error(ident, INTERNAL, f"{type(error).__name__}: {error}")
            return DONE
        if "id" in request:
            self.wire.send({"id": ident, "result": result})
        return SHUTDOWN if request["method"] == "shutdown" else DONE

    def handle(self, method, params, ident):
        if method not in ("initialize", "load", "run", "unload", "restart", "shutdown"):
            raise RpcError(METHOD, f"unknown method {method!r}")
        if not isinstance(params, dict):
            raise RpcError(PARAMS, "params is an object")
        if method == "restart":
            if not self.restarts:
                raise RpcError(METHOD, "'restart' is not offered: start a new process")
            raise Restart(ident)
        return getattr(self, method)(params)

    def initialize(self, params):
        if params.get("protocol") != 1:
            raise RpcError(PARAMS, "this adapter speaks protocol 1")
        return {"protocol": 1, **self.describe, "configurations": [self.offer(c) for c in self.configurations.values()]}

    def offer(self, configuration):
        capabilities = configuration.capabilities() + (["restart"] if self.restarts else [])
        return {"name": configuration.name, "capabilities": capabilities, "declarations": configuration.declarations}

    def load(self, params):
        name, model = params.get("configuration"), params.get("model")
        if not isinstance(name, str) or not isinstance(model, dict) or not isinstance(model.get("directory"), str):
            raise RpcError(PARAMS, "load needs 'configuration' and 'model' with a 'directory'")
        if name not in self.configurations:
            raise RpcError(UNKNOWN, f"unknown configuration {name!r}")
        configuration = self.configurations[name]
        try:
            engine = configuration.engine(model["directory"], model.get("spec", {}), name)
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            raise RpcError(MODEL_REFUSED, f"{type(error).__name__}: {error}") from error
        handle = f"m{self.loaded}"
        self.loaded += 1
        self.models[handle] = Runner(engine, configuration)
        return {"model": handle}

    def run(self, params):
        runner, trace = self.model(params), params.get("trace")
        if not isinstance(trace, list):
            raise RpcError(PARAMS, "'trace' is a list of steps")
        try:
            runner.run(trace, lambda report: self.wire.send({"method": "step", "params": report}))
        except EngineBroken as error:
            raise RpcError(BROKEN, f"{error}; start a new process") from error
        return {"steps": len(trace)}

    def unload(self, params):
        self.model(params)
        del self.models[params["model"]]
        return {}

    def shutdown(self, params):
        return {}

    def model(self, params):
        handle = params.get("model")
        if not isinstance(handle, str):
            raise RpcError(PARAMS, "'model' is a handle that load returned")
        if handle not in self.models:
            raise RpcError(UNKNOWN, f"unknown model {handle!r}")
        return self.models[handle]


def parse(line):
    """The request in a line; its method and id have the right types."""
    try:
        request = json.loads(line, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise RpcError(PARSE, "not JSON") from error
    if not isinstance(request, dict) or not isinstance(request.get("method"), str):
        raise RpcError(REQUEST, "a request is an object with a 'method'")
    ident = request.get("id")
    if isinstance(ident, (dict, list, bool)) or isinstance(ident, float) and not math.isfinite(ident):
        raise RpcError(REQUEST, "'id' is a number or a text")
    return request


def no_constant(word):
    raise ValueError(f"{word} is not JSON")
