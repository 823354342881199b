"""The settings of a host on the command line and in the environment."""

import pytest

from vitviz.web.settings import Settings


def test_nothing_said():
    assert Settings.from_args([], {}) == Settings()


def test_arguments_and_environment_add_up():
    argv = ["--model", "a.safetensors", "--model", "b", "--host", "0.0.0.0", "--port", "8080"]
    got = Settings.from_args([*argv, "--share"], {"VITVIZ_MODELS": "c, a.safetensors ,"})
    assert got == Settings(
        models=("a.safetensors", "b", "c"), host="0.0.0.0", port=8080, share=True
    )


@pytest.mark.parametrize("port", ["0", "65536", "x", "-1", "1.5"])
def test_a_wrong_port_ends_with_usage(port, capsys):
    with pytest.raises(SystemExit) as ended:
        Settings.from_args(["--port", port], {})
    assert ended.value.code == 2
    assert "a port is a number from 1 to 65535" in capsys.readouterr().err


def test_help_names_every_way(capsys):
    with pytest.raises(SystemExit) as ended:
        Settings.from_args(["--help"], {})
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for word in ("--model", "--host", "--port", "--share", "VITVIZ_MODELS", "GRADIO_SERVER_PORT"):
        assert word in text
