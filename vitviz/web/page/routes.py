"""Routes: the allowed requests and their properties. All others are refused.

Gradio mounts routes for everything that any of its apps can do: it would fetch other addresses,
record, proxy and profile for anybody. A list of the routes that this app needs stays right when a
new version of Gradio adds one; a test compares it with all routes of the app.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple


class Rule(NamedTuple):
    """One route.

    path         a regular expression for the whole path
    is_open      answered without a login
    stays_open   a stream of events, which lasts as long as its page
    is_long      receives slowly, or waits; limited by the door, or by what it waits for
    is_direct    computes without the queue; an address has few of them at a time
    is_of_page   a question of our page, which does not wait for those of programs
    is_made      made by Gradio in Python; few are made at a time
    is_linked    may be reached by a link from another site
    """

    methods: tuple[str, ...]
    path: re.Pattern[str]
    is_open: bool = False
    stays_open: bool = False
    is_long: bool = False
    is_direct: bool = False
    is_of_page: bool = False
    is_made: bool = False
    is_linked: bool = False


def _rule(methods: str, path: str, *marks: str) -> Rule:
    return Rule(tuple(methods.split()), re.compile(path), **dict.fromkeys(marks, True))


UPLOAD = re.compile(r"/gradio_api/upload/?")
LOGIN = re.compile(r"/login/?")
LOGOUT = "/logout"
TOOLS = re.compile(r"/gradio_api/mcp(/http)?/?")
# Sessions of Gradio's clients. One with another name, or an empty one, would be a traceback, or
# stop others from cancelling: Gradio takes names of its tasks apart at "<gradio-sep>".
SESSION = re.compile(r"[0-9A-Za-z_-]{1,100}")
HEARTBEAT = re.compile(rf"/gradio_api/heartbeat/{SESSION.pattern}")
FILES = "/gradio_api/file="
NAME, SEGMENT = r"[\w-]+", r"[^/]+"

RULES = (
    # The page. Gradio's document asks for a password itself.
    _rule("GET HEAD", r"/", "is_open", "is_made", "is_linked"),
    # Names that no file system takes would be status 500 and a traceback.
    _rule("GET HEAD", r"/(assets|static)(/[!-.0-~]{1,200}){1,9}", "is_open"),
    _rule(
        "GET HEAD", r"/(favicon\.ico|robots\.txt|theme\.css|manifest\.json)", "is_open", "is_linked"
    ),
    # A page that has lost its connection asks for the app's id until it gets it, and loads again.
    _rule("GET", r"/gradio_api/(startup-events|theme\.css|app_id)", "is_open"),
    _rule("POST", LOGIN.pattern, "is_open", "is_long"),
    _rule("GET", LOGOUT, "is_open"),
    _rule("GET", r"/config/?", "is_made"),
    _rule("GET", r"/gradio_api/info/?", "is_made"),
    _rule("GET", r"/gradio_api/weights", "is_long"),  # they can wait for a model to be loaded
    # Its requests, and their answers.
    _rule("POST", r"/gradio_api/(queue/join|reset/?)"),
    _rule("POST", r"/gradio_api/cancel", "is_long"),  # it waits for the thread of its event
    _rule("POST", r"/gradio_api/component_server/?", "is_direct", "is_of_page"),
    _rule("GET", r"/gradio_api/queue/data", "stays_open"),
    _rule("GET", HEARTBEAT.pattern, "stays_open"),
    _rule("POST", UPLOAD.pattern, "is_long"),
    _rule("GET", r"/gradio_api/upload_progress"),
    _rule("GET HEAD", re.escape(FILES) + r"(?!\w+:).+", "is_linked"),
    # Programs: gradio_client, @gradio/client, curl.
    _rule("POST", rf"/gradio_api/call/(v2/)?{NAME}/?"),
    _rule("GET", rf"/gradio_api/call/(v2/)?{NAME}/{SEGMENT}", "stays_open"),
    _rule("POST", rf"/gradio_api/(run|api)/{NAME}/?", "is_direct"),
)
# Rules for an app with tools for language models.
TOOL_RULES = (
    _rule("POST DELETE", TOOLS.pattern, "is_direct"),
    _rule("GET", TOOLS.pattern, "stays_open"),
    _rule("GET", r"/gradio_api/mcp/schema", "is_made"),
)


def own_rules(paths: Iterable[str]) -> tuple[Rule, ...]:
    """Rules of our own routes, which are open: they know nothing about a visitor."""
    return tuple(
        _rule("GET HEAD", re.escape(path), "is_open", "is_linked") for path in sorted(paths)
    )


def rule_of(rules: Iterable[Rule], method: str, path: str) -> Rule | None:
    """The first rule for a request; None if it is not answered."""
    return next(
        (rule for rule in rules if method in rule.methods and rule.path.fullmatch(path)), None
    )
