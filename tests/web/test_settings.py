"""The settings of a host on the command line and in the environment."""

import os
from pathlib import Path

import pytest

from tests.running import ROOT
from vitviz.web.host import limits
from vitviz.web.host.settings import Settings, SettingsError, flag_of, options, variable_of
from vitviz.web.service.classroom import Classroom


def test_nothing_said():
    assert Settings.from_args([], {}) == Settings()


def test_arguments_and_environment_add_up():
    argv = ["--model", "a.safetensors", "--model", "b", "--host", "0.0.0.0", "--port", "8080"]
    got = Settings.from_args([*argv, "--share"], {"VITVIZ_MODELS": "c, a.safetensors ,"})
    assert got == Settings(
        models=("a.safetensors", "b", "c"), host="0.0.0.0", port=8080, share=True
    )


def test_what_is_said_of_weights_is_of_the_model_before_it(tmp_path, capsys):
    (tmp_path / "names.txt").write_text("cat\ndog\n")
    argv = ["--model", "a.pth", "--arch", "test_vit", "--labels", str(tmp_path / "names.txt")]
    got = Settings.from_args([*argv, "--model", "b.pth", "--key", "ema", "--model", "c"], {})
    assert got.models == ("a.pth", "b.pth", "c")
    assert got.weights == {
        "a.pth": {"arch": "test_vit", "labels": ["cat", "dog"]},
        "b.pth": {"key": "ema"},
    }
    shown = Settings.from_args(["--model", "a", "--preprocess", '{"size": [8, 8]}'], {})
    assert shown.weights == {"a": {"preprocess": {"size": [8, 8]}}}
    for wrong, says in (
        (["--arch", "test_vit"], "--arch must stand behind the --model that it is of"),
        (["--model", "a", "--labels", "no/such"], "no/such cannot be read"),
        (["--model", "a", "--preprocess", "{"], "JSON is expected"),
    ):
        with pytest.raises(SystemExit) as ended:
            Settings.from_args(wrong, {})
        assert ended.value.code == 2
        assert says in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "65536", "x", "-1", "1.5", "0" * 99 + "1"])
def test_a_wrong_port_ends_with_usage(port, capsys):
    with pytest.raises(SystemExit) as ended:
        Settings.from_args(["--port", port], {})
    assert ended.value.code == 2
    assert f"--port must be a port from 1 to 65535, got '{port[:99]}'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variable", "says"),
    [("GRADIO_SERVER_PORT", "a port from"), ("GRADIO_ROOT_PATH", "a path that begins with /")],
)
def test_what_gradio_reads_itself_is_refused_with_a_sentence_too(variable, says, capsys):
    with pytest.raises(SystemExit) as ended:
        Settings.from_args([], {variable: "abc"})
    assert ended.value.code == 2
    assert f"{variable} must be {says}" in " ".join(capsys.readouterr().err.split())


def test_help_names_every_way(capsys):
    with pytest.raises(SystemExit) as ended:
        Settings.from_args(["--help"], {})
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for word in ("--model", "--host", "--port", "--share", "VITVIZ_MODELS", "GRADIO_SERVER_PORT"):
        assert word in text


# Of each setting: what a host may write, what it becomes, and what is refused with which words.
GOOD_AND_BAD = {
    "default_model": ("mnist", "mnist", " ", "empty"),
    "host": ("0.0.0.0", "0.0.0.0", "", "empty"),
    "port": ("80", 80, "0", "from 1 to 65535"),
    "share": ("yes", True, "perhaps", "true or false"),
    "root_path": ("/vitviz", "/vitviz", "vitviz", "begins with /"),
    "login": (str(ROOT / "README.md"), str(ROOT / "README.md"), "no/such/file", "NAME:PASSWORD"),
    "class_": ("on", True, "maybe", "true or false"),
    "class_file": ("word.txt", "word.txt", " ", "empty"),
    "mcp": ("off", False, "1.5", "true or false"),
    "device": ("cpu", "cpu", "", "empty"),
    "threads": ("3", 3, "0", "from 1 to 1024"),
    "engine": ("ray=10.0.0.1:6379", "ray=10.0.0.1:6379", "ray=", "ray=HOST:PORT"),
    "in_page": ("Nothing", "nothing", "all", "nothing, experiments, photos"),
    "keep_weights": ("yes", True, "maybe", "true or false"),
    "passes": ("2", 2, "many", "from 1 to 64"),
    "queue": ("8", 8, "-1", "from 1 to 10000"),
    "models_mb": ("700", 700, "0", "from 1 to 10000000"),
    "upload_mb": ("5", 5, "100000", "from 1 to"),
    "cache_mb": ("500", 500, "1", "from 100 to"),
    "cache_minutes": ("10", 10, "1.5", "from 1 to"),
    "disk_reserve_mb": ("0", 0, "x", "from 0 to"),
    "hostname": ("Vit.example, b.c", ("vit.example", "b.c"), "vit.example:80", "without a port"),
    "allow_origin": (
        "https://School.example:443/,http://b:81",
        ("https://school.example", "http://b:81"),
        "https://school.example/page",
        "origin of a site",
    ),
    "log_level": ("INFO", "info", "loud", "debug, info, warning, error"),
}


@pytest.mark.parametrize("one", options(), ids=lambda one: one.name)
def test_each_setting_is_a_flag_and_a_variable_and_the_flag_wins(one, capsys):
    good, value, bad, words = GOOD_AND_BAD[one.name]
    flag, variable = flag_of(one.name), variable_of(one.name)
    assert getattr(Settings.from_args([flag, good], {}), one.name) == value
    assert getattr(Settings.from_args([], {variable: good}), one.name) == value
    assert getattr(Settings.from_args([flag, good], {variable: bad}), one.name) == value
    for argv, environ, source in (([flag, bad], {}, flag), ([], {variable: bad}, variable)):
        with pytest.raises(SystemExit) as ended:
            Settings.from_args(argv, environ)
        assert ended.value.code == 2
        said = " ".join(capsys.readouterr().err.split())
        assert f"{source} must" in said
        assert words in said


def test_an_option_that_may_be_repeated_has_all_its_values():
    argv = ["--hostname", "a.b", "--hostname", "c.d", "--allow-origin", "https://e"]
    settings = Settings.from_args(argv, {})
    assert (settings.hostname, settings.allow_origin) == (("a.b", "c.d"), ("https://e",))


def test_a_root_path_that_is_no_address_is_refused_in_a_sentence(capsys):
    with pytest.raises(SystemExit):
        Settings.from_args(["--root-path", "http://["], {})
    assert "--root-path must be a path that begins with /" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        Settings.from_args([], {"GRADIO_ROOT_PATH": "http://["})
    assert "GRADIO_ROOT_PATH must be a path that begins with /" in capsys.readouterr().err


@pytest.mark.parametrize("variable", ["VITVIZ_ROOT_PATH", "GRADIO_ROOT_PATH"])
def test_the_name_of_a_proxy_in_the_root_path_is_one_of_the_app(variable, monkeypatch):
    address = "https://vit.example/app"
    monkeypatch.setenv(variable, address)
    settings = Settings.from_args([])
    assert settings.root().path == "/app"
    assert settings.origins().serves("vit.example")
    assert not settings.origins().serves("app.example")


def test_every_setting_stands_in_the_help_and_in_the_page_for_hosts(capsys):
    with pytest.raises(SystemExit):
        Settings.from_args(["--help"], {})
    said, page = capsys.readouterr().out, (ROOT / "vitviz/web/README.md").read_text("utf-8")
    for one in options():
        assert flag_of(one.name) in said
        assert f"| `{flag_of(one.name)}`" in page
        if one.metadata["limit"]:
            default = getattr(limits, one.metadata["limit"]) // one.metadata["times"]
            row = next(line for line in page.splitlines() if f"`{flag_of(one.name)}`" in line)
            assert f"{default:,}" in row or one.name == "passes"  # which depends on the machine


def test_limits_that_a_host_sets_replace_the_defaults(monkeypatch):
    for name in ("COMPUTING", "WORKERS", "QUEUE_SIZE", "UPLOAD_BYTES", "CACHE_AGE_SECONDS"):
        monkeypatch.setattr(limits, name, getattr(limits, name))  # put back afterwards
    kept = limits.CACHE_BYTES
    Settings(passes=5, queue=7, upload_mb=3, cache_minutes=2).apply()
    assert limits.COMPUTING == 5
    assert limits.WORKERS == limits.workers(5) == 7
    assert limits.QUEUE_SIZE == 7
    assert limits.UPLOAD_BYTES == 3_000_000
    assert limits.CACHE_AGE_SECONDS == 120
    assert kept == limits.CACHE_BYTES


def test_a_login_file_is_read_line_by_line(tmp_path):
    file = tmp_path / "visitors"
    file.write_text("ada:with:colon\n\n grace:hopper \n")
    assert Settings(login=str(file)).visitors() == [("ada", "with:colon"), ("grace", "hopper")]
    file.write_text("ada:lovelace\n", encoding="utf-8-sig")  # as Notepad writes it
    assert Settings(login=str(file)).visitors() == [("ada", "lovelace")]
    assert Settings().visitors() is None
    for text in ("", "ada\n", "ada:x\n:y\n"):
        file.write_text(text)
        with pytest.raises(SettingsError, match="a line NAME:PASSWORD for each visitor"):
            Settings(login=str(file)).visitors()
    file.write_bytes(b"ada:\xff\n")
    with pytest.raises(SettingsError, match="cannot be read as text in UTF-8"):
        Settings(login=str(file)).visitors()


def test_two_models_of_one_file_are_refused_and_not_made_one(capsys):
    """The first --key was forgotten without a word."""
    with pytest.raises(SystemExit):
        Settings.from_args(["--model", "a.pth", "--key=x", "--model", "a.pth", "--key=y"], {})
    assert "--key is given twice for a.pth" in capsys.readouterr().err
    both = Settings.from_args(["--model", "a.pth", "--key=x", "--model", "b.pth", "--key=y"], {})
    assert both.weights == {"a.pth": {"key": "x"}, "b.pth": {"key": "y"}}


def test_an_ipv6_host_has_brackets_in_an_address():
    hosts = ("::", "fd00::7", "[fd00::7]", "127.0.0.1", "school.local")
    found = [Settings(host=host).address() for host in hosts]
    assert found == ["[::]", "[fd00::7]", "[fd00::7]", "127.0.0.1", "school.local"]


def test_settings_that_contradict_each_other_stop_the_start(capsys, monkeypatch):
    with pytest.raises(SystemExit):
        Settings.from_args(["--class", "--root-path", "/x"], {})
    assert "cannot be used together" in capsys.readouterr().err
    monkeypatch.setenv("GRADIO_ROOT_PATH", "/x")
    with pytest.raises(SystemExit):
        Settings.from_args(["--class"], {})
    assert "cannot be used together" in capsys.readouterr().err


def test_a_teachers_word_survives_a_restart_in_a_file_of_its_owner(tmp_path):
    file = tmp_path / "word.txt"
    settings = Settings.from_args(["--class-file", str(file)], {})
    assert settings.class_ is True
    first = settings.teachers_word()
    assert file.read_text() == f"{first}\n"
    assert os.name == "nt" or file.stat().st_mode & 0o777 == 0o600
    assert settings.teachers_word() == first
    assert Classroom(settings.teachers_word()).secret == first
    assert Settings.from_args(["--class"], {}).teachers_word() != first
    off = Settings.from_args(["--class-file", str(file)], {"VITVIZ_CLASS": "false"})
    assert off.class_ is False
    for text in ("", "short", "x" * 65, f"{first} and more", "ä" * 20):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(SettingsError, match="must hold a teacher's word alone"):
            settings.teachers_word()
    file.write_bytes(b"\xff" * 20)
    with pytest.raises(SettingsError, match="cannot be read as text"):
        settings.teachers_word()
    gone = Settings.from_args(["--class-file", str(tmp_path / "no" / "word.txt")], {})
    with pytest.raises(SettingsError, match="cannot be written"):
        gone.teachers_word()


@pytest.mark.skipif(os.name == "nt", reason="Windows bounds no files")
def test_a_full_disk_leaves_no_class_file_that_stops_every_later_start(tmp_path):
    import resource

    settings = Settings.from_args(["--class-file", str(tmp_path / "word.txt")], {})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))  # as if there were no room for a byte
    try:
        for _ in range(2):
            with pytest.raises(SettingsError, match="cannot be written"):
                settings.teachers_word()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not [*tmp_path.iterdir()]
    first = settings.teachers_word()  # there is room again
    assert settings.teachers_word() == first


def test_apps_that_start_at_once_share_the_word_of_a_class_file(tmp_path, monkeypatch):
    settings = Settings.from_args(["--class-file", str(tmp_path / "word.txt")], {})
    link, others = os.link, "another-apps-word-of-a-class"

    def later(made: Path, path: Path) -> None:
        path.write_text(others)
        link(made, path)

    monkeypatch.setattr(os, "link", later)
    assert settings.teachers_word() == others
    assert [one.name for one in tmp_path.iterdir()] == ["word.txt"]


def test_a_class_file_lies_on_a_disk_without_links_too(tmp_path, monkeypatch):
    def refuse(made: Path, path: Path) -> None:
        raise PermissionError("no links")

    monkeypatch.setattr(os, "link", refuse)
    settings = Settings.from_args(["--class-file", str(tmp_path / "word.txt")], {})
    first = settings.teachers_word()
    assert settings.teachers_word() == first


def test_a_class_is_not_polled_where_votes_could_be_lost_or_nobody_is_in_the_room(
    capsys, monkeypatch
):
    for other in (["--share"], ["--root-path", "/x"]):
        with pytest.raises(SystemExit) as ended:
            Settings.from_args(["--class", *other], {})
        assert ended.value.code == 2
        assert "pupils in the room open the app" in " ".join(capsys.readouterr().err.split())
    monkeypatch.setenv("SPACE_ID", "ada/vitviz")
    assert Settings.from_args([], {}).class_ is None
    with pytest.raises(SystemExit):
        Settings.from_args([], {"VITVIZ_CLASS": "true"})
    assert "cannot be used on a Space" in " ".join(capsys.readouterr().err.split())
