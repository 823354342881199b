"""The settings of a host: models, address, limits; each a flag and an environment variable."""

import argparse
import os
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ...arguments import Arguments
from ...errors import VitvizError
from ...model.weight_options import add_weight_options
from ...whole import at_home, is_there, partial_folder
from . import limits
from .origins import Origins, read_origin

LEVELS = ("debug", "info", "warning", "error")
LONGEST_WORD = 64
WORD = re.compile(rf"[\w-]{{16,{LONGEST_WORD}}}", re.ASCII)  # of a teacher
IN_PAGE = ("nothing", "experiments", "photos")
EPILOG = """\
Each option can also be an environment variable, for hosts that cannot pass arguments (a Hugging
Face Space): VITVIZ_ and the option's name, such as VITVIZ_QUEUE for --queue; VITVIZ_MODELS has
several models, separated by commas. An option on the command line wins. Gradio's own
GRADIO_SERVER_NAME, GRADIO_SERVER_PORT, GRADIO_SHARE and GRADIO_ROOT_PATH work as well.

Visitors choose among the models on the menu; only these settings can name a file or a hub id.
"""


MCP = "mcp>=1.28.1,<2"  # Gradio does not support mcp 2


def mcp_installed() -> bool:
    """Whether the package `mcp` is installed, in a version that Gradio supports."""
    try:
        return version("mcp").split(".")[0] == "1"
    except PackageNotFoundError:
        return False


class SettingsError(VitvizError):
    """A setting that cannot be used; the sentence names the value and what is allowed."""


def _text(text: str) -> str:
    if not text.strip():
        raise SettingsError("must not be empty")
    return text.strip()


def _whole(low: int, high: int, what: str = "whole number") -> Callable[[str], int]:
    """A reader of whole numbers within bounds."""

    def read(text: str) -> int:
        digits = text.strip()
        # Python reads no number of more than 4,300 digits.
        if not digits.isdecimal() or len(digits) > 99 or not low <= int(digits) <= high:
            raise SettingsError(f"must be a {what} from {low} to {high}, got {text[:99]!r}")
        return int(text)

    return read


_port = _whole(1, 65535, "port")


def _switch(text: str) -> bool:
    if text.strip().lower() not in ("1", "true", "yes", "on", "0", "false", "no", "off"):
        raise SettingsError(f"must be true or false, got {text!r}")
    return text.strip().lower() in ("1", "true", "yes", "on")


def _one_of(words: Sequence[str]) -> Callable[[str], str]:
    """A reader of one of these words."""

    def read(text: str) -> str:
        if text.strip().lower() not in words:
            raise SettingsError(f"must be one of {', '.join(words)}, got {text!r}")
        return text.strip().lower()

    return read


def _engine(text: str) -> str:
    if not re.fullmatch(r"local|ray|ray=[^\s:/]+:\d{1,5}", text.strip()):
        raise SettingsError(f"must be local, ray or ray=HOST:PORT, got {text!r}")
    return text.strip()


def _root_path(text: str) -> str:
    given = text.strip()
    try:
        urlsplit(given)
        if not re.fullmatch(r"(https?:/)?/\S*", given):
            raise ValueError
    except ValueError as error:  # of urlsplit: such as http://[
        raise SettingsError(
            f"must be a path that begins with /, such as /vitviz, got {text!r}"
        ) from error
    return given


def _origins(text: str) -> tuple[str, ...]:
    try:
        return tuple(read_origin(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise SettingsError(
            f"must be the origin of a site, such as https://school.example, got {text!r}"
        ) from error


def _hostnames(text: str) -> tuple[str, ...]:
    names = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    if not all(re.fullmatch(r"[\w.-]+", name) for name in names):
        raise SettingsError(f"must be a name without a port, such as vit.example, got {text!r}")
    return names


def _login(text: str) -> str:
    if not is_there(Path(text), Path.is_file):
        raise SettingsError(f"must be a file with a line NAME:PASSWORD per visitor, got {text!r}")
    return text


def _setting(
    read: Callable[[str], Any],
    help: str,
    *,
    default: Any = None,
    metavar: str = "N",
    limit: str = "",
    times: int = 1,
    repeated: bool = False,
) -> Any:
    """A field with its reader, its help, and the name in `limits` that it replaces.

    `times`: factor from the unit of the setting to that of the limit, such as bytes of a megabyte.
    `repeated`: whether the option may be repeated; in a variable, commas separate the values.
    """
    metadata = {"read": read, "help": help, "metavar": metavar, "limit": limit, "times": times}
    return field(default=default, metadata={**metadata, "repeated": repeated})


class _OfModel(argparse.Action):
    """Stores a value for the --model before it."""

    KEPT = "weights"

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if not namespace.model:
            parser.error(f"{option_string} must stand behind the --model that it is of")
        kept = {**getattr(namespace, self.KEPT, {})}
        if self.dest in kept.get(namespace.model[-1], {}):
            parser.error(
                f"{option_string} is given twice for {namespace.model[-1]}; to offer two models of "
                "one file, copy the file"
            )
        kept[namespace.model[-1]] = {**kept.get(namespace.model[-1], {}), self.dest: values}
        setattr(namespace, self.KEPT, kept)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a host. None: the default of `limits`, Gradio or torch.

    `models`: paths or names for `vitviz.load`, first on the menu; `weights`: further arguments of
    `load` for some of them, by path or name.
    """

    models: tuple[str, ...] = ()
    weights: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    default_model: str | None = _setting(
        _text,
        "the model that a visitor starts with (default: the first on the menu)",
        metavar="NAME",
    )
    host: str | None = _setting(
        _text, "address to listen on (default 127.0.0.1; 0.0.0.0: every network)", metavar="ADDRESS"
    )
    port: int | None = _setting(_port, "port to listen on (default: the first free from 7860)")
    share: bool | None = _setting(_switch, "make a public link through gradio.live")
    root_path: str | None = _setting(
        _root_path, "the path under which a proxy shows the app, such as /vitviz", metavar="PATH"
    )
    login: str | None = _setting(
        _login, "ask for a name and a password: a file with lines NAME:PASSWORD", metavar="FILE"
    )
    hostname: tuple[str, ...] = _setting(
        _hostnames,
        "a name under which visitors open the app, such as that of a proxy; may be repeated (an IP"
        " address, localhost, this machine's name and .local need none)",
        metavar="NAME",
        default=(),
        repeated=True,
    )
    allow_origin: tuple[str, ...] = _setting(
        _origins,
        "another site whose pages may ask the app and show it in a frame, such as"
        " https://school.example; may be repeated",
        metavar="ORIGIN",
        default=(),
        repeated=True,
    )
    class_: bool | None = _setting(
        _switch,
        "let a class in one room vote in lessons: prints the addresses for pupils and teacher, and"
        " listens on every network unless --host says otherwise",
    )
    class_file: str | None = _setting(
        _text,
        "--class, whose teacher keeps the address of before after a restart: its word lies in this"
        " file, which is made if it is not there, for its owner alone",
        metavar="FILE",
    )
    mcp: bool | None = _setting(
        _switch,
        "answer language models over MCP (default: if the package mcp is installed, without"
        " --login)",
    )
    device: str | None = _setting(
        _text,
        "where models run, as torch names it (default: cuda if there is one, else cpu)",
        metavar="NAME",
    )
    threads: int | None = _setting(
        _whole(1, 1024),
        "threads of a forward pass on the CPU (default: the cores, shared by the passes that run;"
        " with --engine ray one)",
    )
    engine: str | None = _setting(
        _engine,
        "where models run: local (default), ray (replicas on this machine), or ray=HOST:PORT (a Ray"
        " cluster that this machine belongs to)",
        metavar="NAME",
    )
    in_page: str = _setting(
        _one_of(IN_PAGE),
        "what a visitor's browser computes itself, with models of at most 25 million parameters:"
        " nothing, experiments, or photos too (default), which are not uploaded then",
        metavar="WHAT",
        default="photos",
    )
    keep_weights: bool | None = _setting(
        _switch,
        "do not give out the weights of each --model: a visitor's browser then runs the shipped"
        " ones and timm's alone",
    )
    passes: int | None = _setting(
        _whole(1, 64), "forward passes at a time (default: the usable cores)", limit="COMPUTING"
    )
    queue: int | None = _setting(
        _whole(1, 10_000),
        "requests that may wait; beyond that an address that has none waiting may add one, up to"
        " three times as many",
        limit="QUEUE_SIZE",
    )
    models_mb: int | None = _setting(
        _whole(1, 10**7),
        "memory for loaded models, in megabytes; those not used for longest are dropped",
        limit="MODELS_BYTES",
        times=10**6,
    )
    upload_mb: int | None = _setting(
        _whole(1, limits.UPLOAD_BYTES // 10**6),
        "largest picture, in megabytes",
        limit="UPLOAD_BYTES",
        times=10**6,
    )
    cache_mb: int | None = _setting(
        _whole(100, 10**7),
        "disk for all pictures and results, in megabytes; the oldest are deleted first",
        limit="CACHE_BYTES",
        times=10**6,
    )
    cache_minutes: int | None = _setting(
        _whole(1, 10**5),
        "how long a picture and its results are kept, in minutes",
        limit="CACHE_AGE_SECONDS",
        times=60,
    )
    disk_reserve_mb: int | None = _setting(
        _whole(0, 10**7),
        "disk that must stay free, in megabytes; below it nothing new is stored",
        limit="DISK_RESERVE_BYTES",
        times=10**6,
    )
    log_level: str = _setting(
        _one_of(LEVELS),
        "what is logged: debug, info (one JSON line per analysis), warning or error",
        metavar="LEVEL",
        default="warning",
    )

    def __post_init__(self) -> None:
        if self.class_file and self.class_ is None:
            object.__setattr__(self, "class_", True)
        root = self.root_path or os.environ.get("GRADIO_ROOT_PATH")
        for other, given in (("share", self.share), ("root_path", root)):
            if self.class_ and given:
                raise SettingsError(
                    f"class and {other} cannot be used together: pupils in the room open the app at"
                    " its address in their network"
                )
        if self.class_ and os.environ.get("SPACE_ID"):
            raise SettingsError(
                "class cannot be used on a Space, which may run several times and start anew at any"
                " moment: votes would be lost; start it on a machine in the room"
            )
        if self.mcp and self.login:
            raise SettingsError("mcp and login cannot be used together: tools ask for no password")
        if self.mcp and not mcp_installed():
            raise SettingsError(f'mcp needs a package: pip install "{MCP}"')

    @classmethod
    def from_args(
        cls, argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ
    ) -> "Settings":
        """Read a command line and the environment. Ends the program with a sentence if one of them
        is invalid.
        """
        parser = Arguments(
            "vitviz serve",
            description="Start the page: take a Vision Transformer apart in the browser.",
            epilog=EPILOG,
        )
        parser.add_argument(
            "--model",
            action="append",
            default=[],
            metavar="PATH_OR_NAME",
            help="put a model on the menu: a checkpoint file, a folder of Hugging Face"
            " transformers, a timm name or owner/name of the hub; may be repeated",
        )
        of_model = parser.add_argument_group("of the --model that stands before them")
        add_weight_options(of_model, _OfModel)
        for option in options():
            flag, row = flag_of(option.name), option.metadata
            if row["read"] is _switch:
                parser.add_argument(
                    flag,
                    dest=option.name,
                    nargs="?",
                    const="true",
                    metavar="true",
                    help=row["help"],
                )
            else:
                action = "append" if row["repeated"] else "store"
                parser.add_argument(flag, metavar=row["metavar"], help=_help(option), action=action)
        given = parser.parse_args(argv)
        named = (name.strip() for name in environ.get("VITVIZ_MODELS", "").split(","))
        values: dict[str, Any] = {
            "models": tuple(dict.fromkeys([*given.model, *filter(None, named)])),
            "weights": getattr(given, _OfModel.KEPT, {}),
        }

        def value_of(read: Callable[[str], Any], text: str, source: str) -> Any:
            try:
                return read(text)
            except SettingsError as error:
                parser.error(f"{source} {error}")

        for option in options():
            variable, text = variable_of(option.name), getattr(given, option.name)
            source = flag_of(option.name) if text is not None else variable
            text = text if text is not None else environ.get(variable)
            text = ",".join(text) if isinstance(text, list) else text
            if text is not None:
                values[option.name] = value_of(option.metadata["read"], text, source)
        for variable, read in GRADIOS.items():
            if text := environ.get(variable):
                value_of(read, text, variable)
        try:
            return cls(**values)
        except SettingsError as error:
            parser.error(str(error))

    def apply(self) -> None:
        """Replace defaults in `limits` by the settings of the host, for the whole process."""
        for option in options():
            value = getattr(self, option.name)
            if option.metadata["limit"] and value is not None:
                setattr(limits, option.metadata["limit"], value * option.metadata["times"])
        if self.passes is not None:
            limits.WORKERS = limits.workers(self.passes)

    def address(self) -> str:
        """The address to listen on; for a class every network, unless the host says otherwise."""
        given = self.host or os.environ.get("GRADIO_SERVER_NAME")
        given = given or ("0.0.0.0" if self.class_ else "127.0.0.1")
        # IPv6, which an address of the web has in brackets.
        return f"[{given}]" if re.fullmatch(r"[\da-fA-F:.]*:[\da-fA-F:.]*", given) else given

    def origins(self) -> Origins:
        """The names of the app, and the sites whose pages may send it requests."""
        names = (self.address(), self.root().hostname, *self.hostname)
        return Origins(filter(None, names), self.allow_origin)

    def root(self) -> SplitResult:
        """The address or path of the app behind a proxy; Gradio has a variable for it."""
        return urlsplit(self.root_path or os.environ.get("GRADIO_ROOT_PATH", ""))

    def ray_address(self) -> str | None:
        """HOST:PORT of the Ray cluster to join; None: a cluster of our own, or no Ray."""
        return self.engine.partition("=")[2] or None if self.engine else None

    def tools(self) -> bool:
        """Whether the app has tools for language models."""
        if self.mcp is None:
            return self.login is None and mcp_installed()
        return self.mcp

    def visitors(self) -> list[tuple[str, str]] | None:
        """The names and passwords of the login file; None without a file. Raises `SettingsError`
        for a file that cannot be read, and for a line that is not NAME:PASSWORD.
        """
        if self.login is None:
            return None
        try:
            lines = Path(self.login).read_text("utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{self.login} cannot be read as text in UTF-8: {error}") from error
        parts = [line.strip().partition(":") for line in lines if line.strip()]
        if not parts or any(not all(part) for part in parts):
            raise SettingsError(f"{self.login} must have a line NAME:PASSWORD for each visitor")
        return [(name, password) for name, _, password in parts]

    def teachers_word(self) -> str:
        """The word in the class file, which is made if it is not there; a new one without a file.
        Raises `SettingsError` for a file that cannot be used.
        """
        word = secrets.token_urlsafe(12)
        if self.class_file is None:
            return word
        path = at_home(self.class_file)
        try:
            _write_word(path, word)
        except FileExistsError:
            return _read_word(path)
        except OSError as error:
            raise SettingsError(f"{path} cannot be written: {error.strerror or error}") from error
        return word


def _write_word(path: Path, word: str) -> None:
    """Make the class file, whole or not at all: no later start could use an empty one. Raises
    `FileExistsError` if it is there.
    """
    if os.path.lexists(path):
        raise FileExistsError(path)
    with partial_folder(path) as folder:
        made = folder / path.name
        with open(made, "x", opener=_for_its_owner) as file:
            file.write(f"{word}\n")
        try:
            os.link(made, path)  # unlike a move it never takes the place of another app's file
        except FileExistsError:
            raise
        except OSError:  # a disk that knows no links
            made.replace(path)


def _for_its_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _read_word(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            word = file.read(LONGEST_WORD + 2).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read as text in UTF-8: {error}") from error
    if not WORD.fullmatch(word):
        raise SettingsError(
            f"{path} must hold a teacher's word alone, 16 to {LONGEST_WORD} letters, digits, - and"
            " _; delete it to get a new one"
        )
    return word


# Gradio reads these variables itself, and an invalid value would end the start with a traceback.
GRADIOS = {"GRADIO_SERVER_PORT": _port, "GRADIO_ROOT_PATH": _root_path}


def options() -> list[Any]:
    """The fields of `Settings` with a flag and a variable: all but models and weights."""
    return [option for option in fields(Settings) if "read" in option.metadata]


def flag_of(name: str) -> str:
    """The flag of a setting, such as --cache-mb."""
    return "--" + name.rstrip("_").replace("_", "-")


def variable_of(name: str) -> str:
    """The environment variable of a setting, such as VITVIZ_CACHE_MB."""
    return "VITVIZ_" + name.rstrip("_").upper()


def _help(option: Any) -> str:
    """The help of an option, with the default of `limits`."""
    about = option.metadata
    if not about["limit"] or "default" in about["help"]:
        return about["help"]
    return f"{about['help']} (default {getattr(limits, about['limit']) // about['times']})"
