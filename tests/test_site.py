"""The site: what is written, what is refused, and that nothing of anybody else's is touched."""

import base64
import errno
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import timm
import torch
import yaml
from PIL import Image
from safetensors.torch import load as tensors_of
from torch.testing import assert_close

import vitviz
from tests.models import tiny
from tests.running import save_patch_norm, save_tiny
from vitviz import cli
from vitviz.errors import VitvizError, WeightsError
from vitviz.languages import dictionary, languages
from vitviz.model.checkpoints import save_checkpoint
from vitviz.model.loaded import ModelCard
from vitviz.payload import in_page, pack, page
from vitviz.payload.bundle import VIEWER, WORKERS, digits, playing, served
from vitviz.site import write_site
from vitviz.site.site import ANSWERED, LIST, MOST_INLINE_BYTES
from vitviz.web.service.questions import QUESTIONS
from vitviz.web.store.examples import EXAMPLES, FOLDER, START


def value(path: Path) -> Any:
    """What a file has that a page takes as a script."""
    return json.loads(path.read_text("utf-8").removeprefix("document.currentScript.viewer = ")[:-2])


def bytes_of(folder: Path, file: dict[str, Any]) -> bytes:
    coded = file["data"] if "data" in file else value(folder / file["path"])
    data = base64.b64decode(coded)
    assert len(data) == file["size"]
    return data


def told(folder: Path) -> dict[str, Any]:
    page = (folder / "index.html").read_text("utf-8")
    return json.loads(re.search(r'id="site">(.*?)</script>', page)[1])


def written(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def deit(folder: Path) -> Path:
    """A model in the shape of DeiT-Ti, with random weights, for small pictures."""
    torch.manual_seed(0)
    model = timm.create_model("deit_tiny_patch16_224", img_size=48, num_classes=4, depth=3)
    loaded = vitviz.from_timm(model)
    path = folder / "own deit.safetensors"
    labels, state = ("a", "b", "c", "<d>"), loaded.vit.state_dict()
    facts = {"terms": "mine </script> alone"}
    card, preprocess = loaded.card, loaded.preprocess
    save_checkpoint(
        path, state, config=card.config, preprocess=preprocess, labels=labels, details=facts
    )
    return path


@pytest.fixture(scope="module")
def site(folder: Path, deit: Path) -> Path:
    made = folder / "site"
    write_site(made, [str(deit), str(save_tiny(folder, "grey"))])
    return made


def test_every_file_that_is_named_is_there_and_no_other(site: Path) -> None:
    found = told(site)
    named = {*re.findall(r'"(files/[^"]+)"', (site / "index.html").read_text("utf-8"))}
    for model in found["models"].values():
        for path in [
            *model["examples"].values(),
            *([model["twin"]["like"]] if model["twin"] else []),
        ]:
            sent = value(site / path)
            named |= {file["path"] for file in sent["files"].values() if "path" in file}
    assert written(site) == {*named, "index.html", "README.md", LIST}
    assert json.loads((site / LIST).read_text("utf-8"))[-1] == LIST
    assert written(site) == {*json.loads((site / LIST).read_text("utf-8"))}


def test_the_answers_that_are_packed_are_those_of_python(site: Path, deit: Path) -> None:
    found = told(site)
    assert [*found["models"]] == ["own deit", "tiny-grey"]
    assert found["start"] == {"model": "own deit", "example": "red-panda"}
    # No model here is the one that the picture of a digit is made for.
    assert [*found["examples"]] == [Path(one.path).stem for one in EXAMPLES if one.model is None]
    loaded = vitviz.load(deit)
    model = found["models"]["own deit"]
    assert value(site / model["path"])["key"]["name"] == "own deit"
    for example in ("dog", "coffee"):
        sent = value(site / model["examples"][example])
        analysis = vitviz.analyze(loaded, FOLDER / f"{example}.jpg")
        first = tensors_of(bytes_of(site, sent["files"]["first"]))
        assert_close(first["logits"], analysis.trace.logits)
        picture = tensors_of(bytes_of(site, sent["files"]["picture"]))["pixels"]
        assert torch.equal(picture, analysis.picture)
        assert sent["files"]["layer-00"] == sent["files"]["lens"] == {"late": True}
        small = [file for file in sent["files"].values() if "data" in file]
        assert small
        assert max(file["size"] for file in small) <= MOST_INLINE_BYTES


def test_the_weights_are_there_for_a_server_and_for_a_double_click(
    site: Path, deit: Path, tmp_path: Path
) -> None:
    weights = told(site)["models"]["own deit"]["weights"]
    data = (site / weights["path"]).read_bytes()
    assert base64.b64decode(value(site / weights["script"])) == data
    (copy := tmp_path / "copy.safetensors").write_bytes(data)
    ours, theirs = vitviz.load(deit).vit.state_dict(), vitviz.load(copy).vit.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_site_for_a_server_alone_has_the_weights_once(deit: Path, tmp_path: Path) -> None:
    both, once = (
        write_site(tmp_path / name, [str(deit)], served=name == "once") for name in ("both", "once")
    )
    weights = told(tmp_path / "once")["models"]["own deit"]["weights"]
    assert [*weights] == ["path"]
    clicks = [
        "double click" in (tmp_path / name / "README.md").read_text("utf-8")
        for name in ("both", "once")
    ]
    assert clicks == [True, False]
    found = told(tmp_path / "both")["models"]["own deit"]["weights"]
    assert weights["path"] == found["path"]
    assert both.size - once.size > (tmp_path / "both" / found["script"]).stat().st_size
    assert written(tmp_path / "both") - written(tmp_path / "once") >= {found["script"]}


def test_the_readme_is_that_of_a_static_space(site: Path) -> None:
    _, front, text = (site / "README.md").read_text("utf-8").split("---\n", 2)
    front = yaml.safe_load(front)
    assert front["sdk"] == "static"
    assert len(front["short_description"]) <= 60
    assert (site / front["app_file"]).is_file()
    assert "own deit: mine </script> alone" in text
    assert "figures for print" in text
    assert not re.search(r"\$\w", text)
    (pictures,) = [line for line in text.splitlines() if "example pictures: " in line]
    assert pictures.endswith("saved as JPEG.")  # not the table of that page


def test_texts_of_strangers_end_no_script(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    assert page.count("</script>") == page.count("<script") == 2
    assert all(
        set(found) == set(told(site)["texts"]["en"]) for found in told(site)["texts"].values()
    )
    assert {*told(site)["texts"]} == {*languages()}


def test_every_text_is_used_and_those_that_are_used_are_there() -> None:
    script = (VIEWER / "hosts/site.js").read_text("utf-8")
    used = {*re.findall(r'(?:textOf|say|tell)\("(\w+)"', script)}
    used |= {*re.findall(r'\[\w+, "(\w+)"\]', script)} | {"coming", "model_lost", "unopened"}
    lacks = {f"lacks_{one}" for one in QUESTIONS if one not in ANSWERED}
    assert used == {*in_page.PAGE_TEXTS} | {*dictionary("en", "site")} - lacks - {"shown"}
    assert lacks <= {*dictionary("en", "site")}


def test_the_shipped_site_begins_as_the_app_does(tmp_path: Path) -> None:
    report = write_site(tmp_path / "site", ["photos", "mnist"], "ko")
    found = told(tmp_path / "site")
    assert found["start"] == {"model": "photos", "example": "red-panda"}
    assert found["examples"]["digit"]["model"] == "mnist"
    assert found["models"]["photos"]["names"]["ko"] != found["models"]["photos"]["title"]
    sent = value(tmp_path / "site" / found["models"]["photos"]["examples"]["red-panda"])
    assert sent["start"] == START
    assert sent["pass"]["first"] == {
        "layer": START["layer"],
        "token": START["token"],
        "direction": "from",
    }
    files = [path for path in (tmp_path / "site").rglob("*") if path.is_file()]
    listed = (tmp_path / "site" / LIST).stat().st_size
    assert report.size == sum(path.stat().st_size for path in files)
    assert 0 < listed < report.size < 25e6
    assert any("Tiny ImageNet" in line for line in report.terms)
    assert '<html lang="ko">' in (tmp_path / "site/index.html").read_text("utf-8")


def test_a_site_of_own_digits_begins_with_a_digit(tmp_path: Path) -> None:
    model = save_tiny(tmp_path, "grey", tuple("0123456789"))
    write_site(tmp_path / "site", [str(model)])
    found = told(tmp_path / "site")
    assert found["start"] == {"model": "tiny-grey", "example": "digit"}
    assert found["examples"]["digit"]["model"] == "tiny-grey"


def test_a_head_lies_beside_the_weights_of_its_trunk(tmp_path: Path) -> None:
    write_site(tmp_path / "both", ["photos", "red-square"])
    found = told(tmp_path / "both")["models"]
    head = found["red-square"]["weights"]
    assert {**found["photos"]["weights"], "head": head["head"]} == head
    path = tmp_path / "one.head.safetensors"
    path.write_bytes(base64.b64decode(head["head"]))
    ours = vitviz.load("red-square").vit.head.weight
    assert torch.equal(vitviz.load(path).vit.head.weight, ours.half().float())
    assert [*found["red-square"]["examples"]] == ["three-square", "eight-square", "three"]
    assert "three" not in found["photos"]["examples"]


def test_a_site_of_a_head_alone_has_all_weights(tmp_path: Path) -> None:
    write_site(tmp_path / "one", ["red-square-mended"])
    found = told(tmp_path / "one")
    weights = found["models"]["red-square-mended"]["weights"]
    assert "head" not in weights
    assert (tmp_path / "one" / weights["path"]).stat().st_size > 5e6
    assert found["start"] == {"model": "red-square-mended", "example": "three-square"}


def test_a_site_is_replaced_and_nothing_else_is(deit: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    write_site(target, ["mnist-none"])
    before = written(target)
    (target / ".git").mkdir()
    write_site(target, [str(deit)])
    assert (target / ".git").is_dir()
    assert not any("mnist" in name for name in written(target))
    assert written(target) != before
    (target / "files" / ".DS_Store").write_bytes(b"")  # a Mac has looked into it
    write_site(target, [str(deit)])
    with pytest.raises(VitvizError, match="cannot be written"):
        write_site("x" * 300, [str(deit)])
    (target / "mine.txt").write_text("kept")
    with pytest.raises(VitvizError, match=r"holds mine\.txt"):
        write_site(target, [str(deit)])
    assert (target / "mine.txt").read_text() == "kept"
    other = tmp_path / "other"
    (other / "files").mkdir(parents=True)
    (other / "files/mine.txt").write_text("kept")
    with pytest.raises(VitvizError, match="holds files"):
        write_site(other, [str(deit)])
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / LIST).write_text(json.dumps(["../other/files/mine.txt", LIST]))
    write_site(hostile, [str(deit)])
    assert (other / "files/mine.txt").read_text() == "kept"


def test_a_site_is_the_same_whenever_it_is_written(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_site(tmp_path / name, ["mnist"])
    one, other = tmp_path / "one", tmp_path / "other"
    assert written(one) == written(other)
    for name in written(one):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_an_error_without_a_number_is_told_by_its_text(tmp_path: Path, monkeypatch) -> None:
    """A full folder for temporary files was told as "cannot be written: None"."""
    monkeypatch.setattr("vitviz.site.site._claimed", Mock(side_effect=OSError("it is full")))
    with pytest.raises(VitvizError, match=r"cannot be written: it is full$"):
        write_site(tmp_path / "site", ["mnist-none"])


def test_a_site_that_cannot_be_written_leaves_the_one_before(
    deit: Path, tmp_path: Path, monkeypatch
) -> None:
    target, write = tmp_path / "site", Path.write_bytes
    write_site(target, ["mnist-none"])
    before = {name: (target / name).read_bytes() for name in written(target)}

    def full(path: Path, data: bytes) -> int:
        if path.name == "README.md":  # almost all is written by then
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    for folder in (target, tmp_path / "new"):
        with pytest.raises(VitvizError, match="cannot be written: No space left on device"):
            write_site(folder, [str(deit)])
    assert {name: (target / name).read_bytes() for name in written(target)} == before
    assert not (tmp_path / "new").exists()
    monkeypatch.undo()
    killed = target / f".{LIST}.{2**22 + 1}.x.partial"  # of a process that no Linux can have
    (killed / "files").mkdir(parents=True)
    (killed / "files/old.js").touch()
    write_site(target, [str(deit)])
    assert written(target) == {*json.loads((target / LIST).read_text("utf-8"))}


def test_of_two_commands_at_once_one_writes_and_one_is_refused(
    deit: Path, tmp_path: Path, monkeypatch
) -> None:
    """The second one deleted what the first one had written, and both mixed their files."""
    target, write, said = tmp_path / "site", Path.write_bytes, []

    def second(path: Path, data: bytes) -> int:
        if path.name == "README.md":  # almost all is written by then
            with pytest.raises(VitvizError, match="another command writes a site into") as refused:
                write_site(target, ["mnist-none"])
            said.append(str(refused.value))
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", second)
    write_site(target, [str(deit)])
    assert len(said) == 1
    assert written(target) == {*json.loads((target / LIST).read_text("utf-8"))}
    assert not any("mnist" in name for name in written(target))
    assert [one.name for one in target.glob(".*")] == []


def test_an_explainer_that_the_engine_lacks_is_not_offered(
    site: Path, deit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offered(folder: Path) -> list[list[str]]:
        model = told(folder)["models"]["own deit"]
        both = [value(folder / model["path"]), value(folder / model["twin"]["like"])["model"]]
        return [[explainer["key"] for explainer in one["explainers"]] for one in both]

    monkeypatch.setattr(in_page, "EXPLAINERS", ("attention", "generic"))
    write_site(tmp_path / "site", [str(deit)])
    assert offered(tmp_path / "site") == [["attention", "generic"]] * 2
    assert "rollout" in offered(site)[0]


@pytest.mark.parametrize("switch", in_page.SUPPORTED)
def test_what_the_engine_does_not_know_is_refused(switch: str, tmp_path: Path) -> None:
    path = save_patch_norm(tmp_path, switch)
    with pytest.raises(WeightsError, match=f"engine of a page does not know .{switch}"):
        write_site(tmp_path / "site", [str(path)])
    assert not (tmp_path / "site").exists()


def test_a_model_that_is_too_large_and_a_twin_are_refused() -> None:
    card = tiny("cls").card
    in_page.check(replace(card, num_parameters=25_000_000))
    wrongs: list[tuple[ModelCard, str]] = [
        (replace(card, num_parameters=25_000_001), "25,000,001 parameters"),
        (replace(card, trained=False), "not trained"),
        (replace(card, config=replace(card.config, image_size=320)), "1,601 tokens"),
        (replace(card, config=replace(card.config, embed_dim=24_000, depth=99)), "numbers"),
    ]
    for wrong, said in wrongs:
        with pytest.raises(WeightsError, match=said):
            in_page.check(wrong)


def test_the_command_says_what_it_wrote(capsys, deit: Path, tmp_path: Path) -> None:
    assert cli.main(["site", str(tmp_path / "site"), "--model", str(deit)]) == 0
    said = capsys.readouterr().out
    size = sum(path.stat().st_size for path in (tmp_path / "site").rglob("*") if path.is_file())
    assert f"{size / 1e6:.1f} MB" in said
    assert "terms of own deit: mine" in said
    assert "there are no figures for print" in said
    assert cli.main(["site", str(tmp_path), "--model", str(deit)]) == 1
    assert "holds site" in capsys.readouterr().err
    assert cli.main(["site", str(tmp_path / "b"), "--language", "xx"]) == 1
    assert "must be one of en, ko" in capsys.readouterr().err


def test_a_page_of_one_file_has_the_model_where_it_is_asked_for(
    tiny_analysis: vitviz.Analysis, tmp_path: Path
) -> None:
    plain, whole = page(tiny_analysis), page(tiny_analysis, engine=True)
    assert 'id="strip"' not in plain
    weights, picture = (
        base64.b64decode(re.search(rf'id="{name}">(.*?)</script>', whole)[1])
        for name in ("weights", "picture")
    )
    assert torch.equal(
        torch.from_numpy(np.array(Image.open(io.BytesIO(picture)))), tiny_analysis.picture
    )
    (file := tmp_path / "weights.safetensors").write_bytes(weights)
    ours, theirs = tiny_analysis.loaded.vit.state_dict(), vitviz.load(file).vit.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)  # to the last bit
    learns = len(playing()) + 4 * sum(map(len, digits().values())) / 3
    assert learns < 1_740_000  # the playground and own things, which few open
    assert len(plain) < len(whole) < len(plain) + 4 * len(weights) / 3 + learns + 370_000
    assert whole.count(served(WORKERS[0])) == 1  # the engine, also for own things
    assert whole.count("</script>") == plain.count("</script>") + 4


def test_a_page_without_a_model_that_it_can_run_is_refused(tiny_analysis, tmp_path: Path) -> None:
    saved = vitviz.Analysis.from_bytes(tiny_analysis.to_bytes())
    with pytest.raises(WeightsError, match="without its model"):
        page(saved, engine=True)
    with pytest.raises(WeightsError, match="without its model"):
        page(pack(tiny_analysis), engine=True)
    other = vitviz.analyze(vitviz.load(save_patch_norm(tmp_path)), FOLDER / "dog.jpg")
    with pytest.raises(WeightsError, match="patch_norm_before"):
        page(other, engine=True)


def test_vitviz_look_writes_that_page(undrawn, deit: Path, tmp_path: Path, capsys) -> None:
    photo, out = str(FOLDER / "dog.jpg"), tmp_path / "out"
    arguments = ["look", photo, "--model", str(deit), "--html-engine", "--out", str(out)]
    assert cli.main(arguments) == 0
    assert 'id="strip"' in (out / "viewer.html").read_text("utf-8")
    assert cli.main([*arguments[:4], *arguments[4:-1], str(out / "b"), "--untrained"]) == 1
    assert "not trained" in capsys.readouterr().err
    assert not (out / "b").exists()
