"""`Group.confluent`: everything that a program imports from ``confluent_kafka``, in one group in virtual time.

``Consumer`` and ``Producer`` are doubles; exceptions, messages, partitions and constants are confluent-kafka's own,
where that package is installed.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, count
from types import CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, cast

from compare.testing.confluent import errors, messages, properties
from compare.testing.confluent.consumer import KafkaConsumer
from compare.testing.confluent.producer import KafkaProducer
from compare.testing.confluent.sending import Process
from compare.testing.handling import HandlingGroup
from compare.testing.removed import REMOVED
from protocols.errors import UserError
from protocols.java import murmur2
from protocols.named_modules import module_named

if TYPE_CHECKING:
    import confluent_kafka

PACKAGE: Final = "confluent_kafka"
_HOMES: Final[Mapping[str, str]] = {"AdminClient": "admin"}
"""Name of a class to the module that has it, where that is not the package."""
_NOT_COPIED: Final = frozenset(("__dict__", "__weakref__", "__orig_bases__", "__parameters__"))


class Confluent:
    """The clients of one process. Consumers made by one object are members of the group, each with a name of its own:
    ``client.id``, else c1, c2 and so on. When the last of them is killed, so are its producers.

    Everything else that ``confluent_kafka`` has is there under the same name.
    """

    def __init__(self, group: HandlingGroup) -> None:
        self.group = group
        self.process = Process()
        confluent = self

        class Consumer(KafkaConsumer):
            """Stands for `confluent_kafka.Consumer`."""

            def __init__(self, *args: object, **more: object) -> None:
                config = checked(args, more)
                super().__init__(group, confluent.next_name({**config, **more}), config, **more)
                confluent.process.add(group.handling.made(self))

        class Producer(KafkaProducer):
            """Stands for `confluent_kafka.Producer`."""

            def __init__(self, *args: object, **more: object) -> None:
                super().__init__(group, confluent.process, {**checked(args, more), **more})

        # Whoever types a program by the real classes may give it these.
        self.Consumer = cast("type[confluent_kafka.Consumer]", Consumer)
        self.Producer = cast("type[confluent_kafka.Producer]", Producer)
        self._names: set[str] = set()

    def __repr__(self) -> str:
        return f"<confluent-kafka of {self.group!r}>"

    def next_name(self, config: Mapping[str, object]) -> str:
        """The name of the next member: its ``client.id``, where that is free."""
        wanted = str(config.get("client.id") or "")
        numbered = (f"{wanted}-{number}" if wanted else f"c{number}" for number in count(1))
        known = {*self.group.known, *self._names}
        name = next(name for name in chain([wanted] if wanted else [], numbered) if name not in known)
        self._names.add(name)
        return name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _OWN:
            return _OWN[name]
        if name == "admin":
            raise AttributeError(REMOVED["AdminClient"])
        try:
            return getattr(real_package(), name)
        except UserError as error:
            raise AttributeError(f"{name}: {error}") from None

    @contextmanager
    def installed(self) -> Iterator["Confluent"]:
        """``with group.confluent().installed():`` everything that the program makes from ``confluent_kafka`` is of
        this group: in that package and in every module that has imported its classes by name. Afterwards all is as
        before. Raises `UserError` where confluent-kafka is not installed."""
        with replaced({"Consumer": self.Consumer, "Producer": self.Producer, **_NO_DOUBLES}):
            yield self


def checked(args: tuple[object, ...], more: Mapping[str, object]) -> dict[str, object]:
    """The one argument of a constructor, as confluent-kafka takes it."""
    if len(args) > 1:
        raise TypeError("expected tuple containing single dict")
    config = args[0] if args else {}
    if not isinstance(config, dict) or not (args or more):
        raise TypeError("expected configuration dict")
    return config


def _without_double(name: str) -> type:
    """Stands for a class that has no double: nobody can make one."""

    def refuse(self: object, *args: object, **more: object) -> None:
        raise UserError(REMOVED[name])

    return type(name, (), {"__init__": refuse})


_REAL_ONLY: Final = ("AdminClient", "DeserializingConsumer", "SerializingProducer")
_NO_DOUBLES: Final = {name: _without_double(name) for name in _REAL_ONLY}
_OWN: Final[Mapping[str, object]] = {
    **_NO_DOUBLES,
    "KafkaError": errors.KafkaError,
    "KafkaException": errors.KafkaException,
    "TopicPartition": errors.TopicPartition,
    "Message": messages.MESSAGES[-1],
    "OFFSET_BEGINNING": errors.OFFSET_BEGINNING,
    "OFFSET_END": errors.OFFSET_END,
    "OFFSET_STORED": errors.OFFSET_STORED,
    "OFFSET_INVALID": errors.OFFSET_INVALID,
    "TIMESTAMP_NOT_AVAILABLE": messages.TIMESTAMP_NOT_AVAILABLE,
    "TIMESTAMP_CREATE_TIME": messages.TIMESTAMP_CREATE_TIME,
    "murmur2": murmur2,
    "consistent": properties.consistent,
    "fnv1a": properties.fnv1a,
}
"""What is there without confluent-kafka, too."""


def real_package(module: str = "") -> ModuleType:
    """confluent-kafka, or a module of it. Raises `UserError` where it is not installed."""
    try:
        return module_named(f"{PACKAGE}.{module}" if module else PACKAGE)
    except ImportError:
        raise UserError("confluent-kafka is not installed: python -m pip install confluent-kafka") from None


@contextmanager
def replaced(doubles: Mapping[str, type]) -> Iterator[None]:
    """Every module's names of the real classes stand for these, and so do names of the program's own classes that were
    made from them (`rebound`); afterwards all is as before."""
    instead = {getattr(real_package(_HOMES.get(name, "")), name): double for name, double in doubles.items()}
    before: list[tuple[ModuleType, str, object]] = []
    try:
        for module in list(sys.modules.values()):
            if isinstance(module, ModuleType) and not _ours(module):
                for name, value in list(vars(module).items()):
                    double = _double(value, instead) if isinstance(value, type) else None
                    if double is not None:
                        before.append((module, name, value))
                        setattr(module, name, double)
        yield
    finally:
        for module, name, value in reversed(before):
            setattr(module, name, value)


def _ours(module: ModuleType) -> bool:
    """Our own modules keep what they know of the real classes."""
    return module.__name__.startswith(__name__.rpartition(".")[0])


def _double(value: type, instead: dict[type, type]) -> type | None:
    """What stands for a class; None for one that has nothing to do with confluent-kafka's."""
    if value in instead:
        return instead[value]
    if not any(base in instead for base in value.__mro__[1:]) or len(value.__bases__) != 1:
        return None
    if value.__module__.partition(".")[0] == PACKAGE:
        return None
    parent = _double(value.__bases__[0], instead)
    if parent is None:
        return None
    instead[value] = rebound(value, parent)
    return instead[value]


def rebound(real: type, base: type) -> type:
    """A class of the program's own with the same body on another base."""
    namespace = {name: value for name, value in vars(real).items() if name not in _NOT_COPIED}
    made: type = type(real.__name__, (base,), {"__module__": real.__module__, "__doc__": real.__doc__})
    for name, value in namespace.items():
        if name not in ("__module__", "__doc__"):
            setattr(made, name, _bound(value, real, made))
    return made


def _bound(value: object, real: type, made: type) -> object:
    """A function that means the new class wherever it names the old one."""
    if isinstance(value, staticmethod | classmethod):
        return type(value)(cast(Callable[..., object], _bound(value.__func__, real, made)))
    if isinstance(value, property):
        fget, fset, fdel = [cast(Any, _bound(part, real, made)) for part in (value.fget, value.fset, value.fdel)]
        return property(fget, fset, fdel, value.__doc__)
    if not isinstance(value, FunctionType) or value.__module__ != real.__module__:
        return value
    names = value.__globals__
    if real.__name__ in _names(value.__code__):
        names = {**names, real.__name__: made}
    cells = tuple([_cell(cell, real, made) for cell in value.__closure__ or ()]) or None
    function = FunctionType(value.__code__, names, value.__name__, value.__defaults__, cells)
    function.__kwdefaults__, function.__doc__ = value.__kwdefaults__, value.__doc__
    function.__qualname__ = value.__qualname__
    return function


def _names(code: CodeType) -> set[str]:
    """The global names that a function and those within it use."""
    within = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*within)


def _cell(cell: CellType, real: type, made: type) -> CellType:
    """What ``super()`` without arguments looks at."""
    try:
        return CellType(made) if cell.cell_contents is real else cell
    except ValueError:
        return cell
