"""What programs ask: named endpoints, and tools for language models, of one running app."""

import asyncio
import base64
import json
import re
import shutil
import subprocess
import time

import httpx
import numpy as np
import pytest
from gradio_client import handle_file
from gradio_client.exceptions import AppError

import vitviz
from tests.desks import encoded
from tests.models import photo
from tests.running import ROOT, pictures
from vitviz.web.host import limits
from vitviz.web.store.examples import EXAMPLES

QUESTIONS = ["analyze", "explain", "intervene", "compare", "survey", "models"]


@pytest.fixture(scope="module")
def model(app_models):
    return app_models["cls"]


@pytest.fixture(scope="module")
def ours(model, picture):
    return vitviz.analyze(vitviz.load(model), picture)


def test_every_question_is_named_and_says_what_it_takes(client):
    api = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    for name in QUESTIONS:
        told = api[f"/{name}"]
        assert "efuse" in told["description"]
    one = {each["parameter_name"]: each for each in api["/explain"]["parameters"]}
    assert one["token"]["type"] == {"type": "integer"}
    assert one["rows"]["type"] == {"type": "boolean"}
    assert one["photo"]["parameter_has_default"] is False


def test_explain_gives_the_map_of_python(client, picture, ours):
    file = handle_file(picture)
    found = client.predict(file, "tiny-cls", "generic", 2, rows=True, api_name="/explain")
    values = ours.explain("generic", 0, 2)
    assert found["photo"] == "a dog.png"
    assert found["relevance"]["rows"] == pytest.approx(values.tolist(), rel=1e-3, abs=1e-6)
    best = int(values.argmax())
    strongest = found["relevance"]["strongest"][0]
    assert strongest["token"] == best
    row_col = ours.grid.row_col(best) if ours.grid.is_patch(best) else None
    assert (strongest.get("row"), strongest.get("column")) == (row_col or (None, None))
    found = client.predict(file, "tiny-cls", "attention_gradient", api_name="/explain")
    lowest = float(ours.explain("attention_gradient").min())
    assert found["relevance"]["against"][0]["value"] == pytest.approx(lowest, rel=1e-3)


def test_intervene_gives_both_answers(client, model, picture, ours):
    steered = {"kind": "add", "patches": "cls", "layer": 1, "toward": "class 1", "factor": 1.5}
    changes = [{"kind": "remove", "patches": [3, 4]}, steered]
    found = client.predict(handle_file(picture), changes, "tiny-cls", api_name="/intervene")
    changed = vitviz.analyze(vitviz.load(model), picture, interventions=changes)
    for said, analysis in ((found["before"], ours), (found["after"], changed)):
        want = analysis.predictions()
        assert [one["class"] for one in said] == [one.index for one in want]
        probabilities = [one.probability for one in want]
        assert [one["probability"] for one in said] == pytest.approx(probabilities, rel=1e-3)
    assert found["changes"] == changed.changes()
    for wrong, said in (
        ({"kind": "remove", "patches": [16]}, "patches count from 0 to 15"),
        ({**steered, "toward": "tabby"}, "tabby"),
        ({**steered, "factor": 101}, "a number from -100 to 100, got 101"),
    ):
        with pytest.raises(AppError, match=said):
            client.predict(handle_file(picture), [wrong], "tiny-cls", api_name="/intervene")


def test_a_transplant_takes_tokens_of_any_picture_that_photo_takes(client, model, picture, ours):
    other, loaded = photo(90, 50)[::-1].copy(), vitviz.load(model)
    data = data_address(encoded(other))
    example = next(one for one in EXAMPLES if one.path.endswith("cat.jpg"))
    for given, donor in ((data, other), ("cat", example.read())):
        change = {"kind": "transplant", "patches": "cls", "layer": 1}
        changes = [{**change, "from": given}]
        found = client.predict(handle_file(picture), changes, "tiny-cls", api_name="/intervene")
        change["from"] = vitviz.analyze(loaded, donor)
        want = vitviz.analyze(loaded, picture, interventions=[change]).predictions()
        assert [one["class"] for one in found["after"]] == [one.index for one in want]
        assert [one["probability"] for one in found["after"]] == pytest.approx(
            [one.probability for one in want], rel=1e-3
        )
    wrong = [{**changes[0], "from": "/etc/passwd"}]
    with pytest.raises(AppError, match="This picture is not here"):
        client.predict(handle_file(picture), wrong, "tiny-cls", api_name="/intervene")


def test_no_more_pictures_of_a_question_are_kept_than_can_give_tokens(client, picture, app_folder):
    sent = [f"only this question has me: {i}".encode() for i in range(limits.DONORS + 1)]
    data = [data_address(one) for one in sent]
    changes = [{"kind": "transplant", "patches": "cls", "layer": 1, "from": one} for one in data]
    with pytest.raises(AppError, match="At most 8 other photos can give tokens"):
        client.predict(handle_file(picture), changes, "tiny-cls", api_name="/intervene")
    assert not {path.read_bytes() for path in pictures(app_folder)} & set(sent)


def test_every_question_takes_every_picture_that_the_readme_names(client, picture):
    """/analyze refused the names of examples and data: addresses."""
    data = data_address(picture.read_bytes())
    named = {"a dog.png": handle_file(picture), "dog.jpg": "dog", "picture": data}
    for question in QUESTIONS[:4]:
        changes = {"interventions": []} if question == "intervene" else {}
        for name, given in named.items():
            asked = {"photo": given, "model": "tiny-cls", **changes}
            answer = client.predict(**asked, api_name=f"/{question}")
            match question:
                case "analyze":
                    assert answer[0]["photo"]["name"] == name
                case "compare":
                    assert answer["first"]["photo"] == name
                case _:
                    assert answer["photo"] == name


@pytest.mark.parametrize("question", ["analyze", "explain"])
def test_the_class_to_explain_can_be_named(client, picture, ours, question):
    for target in (2, "class 2"):
        asked = {"model": "tiny-cls", "explainer": "generic", "target": target}
        answer = client.predict(handle_file(picture), **asked, api_name=f"/{question}")
        if question == "analyze":
            relevance = answer[0]["selection"]["relevance"]
            assert relevance["values"] == pytest.approx(ours.explain("generic", 0, 2).tolist())
        else:
            relevance = answer["relevance"]
        assert relevance["target"] == 2


@pytest.mark.parametrize("kind", ["file", "example", "data", "vector"])
def test_the_likeness_to_a_picture_or_a_vector_is_that_of_python(
    client, model, picture, ours, folder, kind
):
    loaded, other = vitviz.load(model), photo(70, 80)[::-1].copy()
    (folder / "other.png").write_bytes(encoded(other))
    example = next(one for one in EXAMPLES if one.path.endswith("cat.jpg"))
    like, target, name = {
        "file": (handle_file(folder / "other.png"), other, "other.png"),
        "example": ("cat", example.read(), "cat.jpg"),
        "data": (data_address(encoded(other)), other, "picture"),
        "vector": ([*range(24)], None, None),
    }[kind]
    target = like if target is None else vitviz.analyze(loaded, target)
    for key in ("generic", "occlusion"):
        asked = {"model": "tiny-cls", "explainer": key, "token": 2, "like": like}
        values = ours.explain(key, 2, target)
        summary, _ = client.predict(handle_file(picture), **asked, api_name="/analyze")
        found = summary["selection"]["relevance"]
        assert found["values"] == pytest.approx(values.tolist(), rel=1e-5, abs=1e-5)
        assert found["likeness"] == pytest.approx(ours.likeness(target), abs=1e-5)
        assert (found["target"], found["like"]) == (None, name)
        found = client.predict(handle_file(picture), **asked, rows=True, api_name="/explain")
        found = found["relevance"]
        assert found["rows"] == pytest.approx(values.tolist(), rel=1e-3, abs=1e-6)
        assert found["likeness"] == pytest.approx(ours.likeness(target), rel=1e-3)
        assert (found["target"], found["like"]) == (None, name)


def test_a_likeness_beside_a_change_is_that_of_the_changed_pass(client, model, picture):
    loaded, changes = vitviz.load(model), [{"kind": "remove", "patches": [3, 4]}]
    cat = next(one for one in EXAMPLES if one.path.endswith("cat.jpg"))
    asked = {"explainer": "generic", "interventions": changes, "like": "cat", "invert": True}
    summary, _ = client.predict(handle_file(picture), "tiny-cls", **asked, api_name="/analyze")
    changed = vitviz.analyze(loaded, picture, interventions=changes, invert=True)
    expected = changed.likeness(vitviz.analyze(loaded, cat.read()))
    assert summary["selection"]["relevance"]["likeness"] == pytest.approx(expected, abs=1e-5)


def test_a_class_is_refused_where_it_changes_nothing(client, picture):
    with pytest.raises(AppError, match="o target changes a map of rollout"):
        client.predict(handle_file(picture), "tiny-cls", "rollout", 2, api_name="/explain")


def test_compare_takes_the_twin_unless_something_else_differs(client, model, picture, ours):
    found = client.predict(handle_file(picture), "tiny-cls", token=5, api_name="/compare")
    twin = vitviz.analyze(vitviz.load(model, pretrained=False), picture)
    both = vitviz.compare(ours, twin)
    assert [found["first"]["trained"], found["second"]["trained"]] == [True, False]
    common = both.attention(both.first.trace.depth - 1, None, 5).common
    assert found["attention_in_common"] == pytest.approx(common, rel=1e-3)
    assert found["answers"][0]["label"] == both.answers()[0].label
    other = client.predict("dog", "tiny-cls", "cat", api_name="/compare")
    assert [other["first"]["photo"], other["second"]["photo"]] == ["dog.jpg", "cat.jpg"]
    assert other["second"]["trained"] is True
    for same in ({"other_model": "tiny-cls"}, {"other_photo": "dog"}):  # each field is filled in
        found = client.predict("dog", "tiny-cls", **same, api_name="/compare")
        assert found["second"]["trained"] is False
    unlike = client.predict("dog", "tiny-cls", "", "photos", api_name="/compare")
    assert unlike["same_grid"] is False
    assert unlike["attention_in_common"] is None


def test_a_question_can_ask_for_a_size_of_the_picture(client, model, picture):
    ours = vitviz.analyze(vitviz.load(model, image_size=(40, 24)), picture)
    file, asked = handle_file(picture), {"rows": True, "image_size": "40x24"}
    found = client.predict(file, "tiny-cls", "generic", 2, **asked, api_name="/explain")
    values = ours.explain("generic", 0, 2)
    assert found["relevance"]["rows"] == pytest.approx(values.tolist(), rel=1e-3, abs=1e-6)
    assert found["grid"] == {"rows": 5, "columns": 3}
    changes = [{"kind": "remove", "patches": [14]}]
    asked = {"image_size": [40, 24], "api_name": "/intervene"}
    found = client.predict(file, changes, "tiny-cls", **asked)
    assert [one["class"] for one in found["before"]] == [
        one.index for one in ours.predictions(len(found["before"]))
    ]
    asked = {"image_size": "40x24", "api_name": "/compare"}
    sizes = [
        [[one["grid"]["rows"], one["grid"]["columns"]] for one in (told["first"], told["second"])]
        for told in (
            client.predict("dog", "tiny-cls", **asked),
            client.predict("dog", "tiny-cls", other_image_size=16, **asked),
            client.predict("dog", "tiny-cls", other_model="photos", **asked),
        )
    ]
    assert sizes == [[[5, 3], [5, 3]], [[5, 3], [2, 2]], [[5, 3], [12, 12]]]


def test_models_lists_what_can_be_asked(client):
    found = client.predict(api_name="/models")
    assert found["default"] == "tiny-cls"
    menu = [*found["models"]]
    assert menu[:3] == ["tiny-cls", "tiny-registers", "tiny-grey"]  # the host's own come first
    assert {"photos", "mnist", "deit_tiny_patch16_224.fb_in1k"} <= set(menu)
    assert found["explainers"] == [*vitviz.EXPLAINERS]
    assert "red-panda" in found["examples"]


MARK = {"meta": {"_type": "gradio.FileData"}}


@pytest.mark.parametrize("question", ["analyze", "explain"])
@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"photo": "https://example.com/a.png"}, "This picture is not here"),
        ({"photo": "http://["}, "This picture is not here"),
        ({"photo": {"path": "http://127.0.0.1:9/a.png"}}, "This picture is not here"),
        ({"photo": {"path": "http://127.0.0.1:9/a.png", **MARK}}, "Upload the picture itself"),
        ({"photo": {"path": "", "url": "data:image/png;base64,aGVsbG8="}}, "A picture is needed"),
        ({"photo": "/etc/passwd"}, "This picture is not here"),
        ({"photo": "file:///etc/passwd"}, "This picture is not here"),
        ({"photo": "data:image/png;base64,%%%"}, "must be base64"),
        ({"photo": "data:image/png;base64,aGVsbG8="}, "it is text"),
        ({"photo": 5}, "A picture is needed"),
        ({"photo": ""}, "A picture is needed"),
        ({"model": "nonsense"}, "There is no model 'nonsense'"),
        ({"model": ["tiny-cls"]}, "The name of a model must be a text"),
        ({"token": "x"}, "oken must be a whole number"),
        ({"token": 17}, "oken must be a whole number from 0 to 16, got 17"),
        ({"explainer": "magic"}, "magic"),
        ({"target": 99}, "has no class 99"),
        ({"target": [0.5] * 24}, "has no class"),  # a vector as wide as its features
        ({"target": "no such class"}, "has no class 'no such class'"),
        ({"like": "cat", "target": 2}, "ike stands in place of a target"),
        ({"like": "cat", "explainer": "rollout"}, "o target changes a map of rollout; maps of a"),
        ({"like": "/etc/passwd"}, "This picture is not here"),
        ({"like": 5}, "A picture is needed"),
        ({"like": [0.5] * 25}, r"must have shape \(24,\), as the features of tiny-cls"),
        ({"like": ["a"]}, "must hold numbers"),
        ({"like": [[0.5] * 24]}, "must have one axis"),
        ({"like": []}, "must hold finite numbers"),
        ({"untrained": "no"}, "Untrained must be true or false, got 'no'"),
        ({"untrained": 1}, "Untrained must be true or false"),
        ({"image_size": 30}, "Tiny-cls takes pictures of whole patches of 8 x 8 pixels.*30 x 30"),
        ({"image_size": "x"}, "An image size must be pixels such as 144, .* 'x' came"),
    ],
    ids=str,
)
def test_what_cannot_be_answered_is_refused_with_a_sentence(client, question, asked, says):
    asked = {"photo": "dog", "explainer": "generic"} | asked
    with pytest.raises(AppError, match=says):
        client.predict(**asked, api_name=f"/{question}")


def test_rows_are_given_or_not(client):
    with pytest.raises(AppError, match="Rows must be true or false, got 'yes'"):
        client.predict("dog", rows="yes", api_name="/explain")


def talk(url, work):
    """Let `work` use a session of MCP."""
    session_of = pytest.importorskip("mcp").ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def main():
        async with (
            streamable_http_client(f"{url}/gradio_api/mcp/") as (read, write, _),
            session_of(read, write) as session,
        ):
            await session.initialize()
            return await work(session)

    return asyncio.run(main())


def tool(url, name, **asked):
    """The answer of a tool: (its text, whether it is an error)."""

    async def call(session):
        return await session.call_tool(name, asked)

    answer = talk(url, call)
    (content,) = answer.content
    return content.text, bool(answer.isError)


def test_the_tools_have_the_names_of_the_endpoints(url):
    async def listed(session):
        return (await session.list_tools()).tools

    tools = {one.name: one for one in talk(url, listed)}
    assert list(tools) == QUESTIONS
    for one in tools.values():
        assert "efuse" in one.description
        described = one.inputSchema["properties"]
        assert all(each["description"] for each in described.values())
    assert tools["explain"].inputSchema["required"] == ["photo"]
    said = tools["explain"].inputSchema["properties"]["photo"]["description"]
    assert "at most 32 MB and 64 megapixels" in said
    assert said.count(" MB ") == 2
    assert f"over HTTP within the {limits.BODY_BYTES // 1000} kB of a request" in said


def test_a_survey_is_that_of_python_and_goes_on_after_a_broken_picture(client, model, picture):
    photos = [data_address(picture.read_bytes()), "dog", "data:image/png;base64,AAAA", "cat"]
    found = client.predict(photos, "tiny-cls", api_name="/survey")
    files = [one.path for one in EXAMPLES if one.path.endswith(("dog.jpg", "cat.jpg"))]
    ours = vitviz.survey(vitviz.load(model), [picture, *files], progress=False)
    assert found["pictures"] == 3
    assert [one.get("answer") for one in found["answers"]] == [
        *(one.answer for one in ours.pictures[:2]),
        None,
        ours.pictures[2].answer,
    ]
    assert found["answers"][2]["photo"] == 2
    assert found["answers"][2]["refused"]
    heads = ours.mean("distance")
    distance = found["distance"]
    assert distance["nearest"] == pytest.approx(heads.amin(1).tolist(), rel=1e-2)
    assert distance["mean"] == pytest.approx(heads.mean(1).tolist(), rel=1e-2)
    assert distance["farthest"] == pytest.approx(heads.amax(1).tolist(), rel=1e-2)
    for wrong in ([], ["dog"] * 17, "dog", None):
        with pytest.raises(AppError, match="A survey takes a list of 1 to 16 pictures"):
            client.predict(wrong, "tiny-cls", api_name="/survey")


def test_a_survey_of_as_many_pictures_as_there_may_be_is_little_json(url):
    names = ["dog", "cat", "red-panda", "bison", "goldfish", "coffee"] * 3
    text, failed = tool(url, "survey", photos=names[: limits.SURVEYED], model="photos")
    assert not failed, text
    assert len(text.encode()) <= 2048
    assert len(json.loads(text)["answers"]) == 16


def data_address(data):
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def test_tools_answer_in_little_json(url, picture, ours):
    data = data_address(picture.read_bytes())
    rest = {"intervene": {"interventions": [{"kind": "remove", "patches": [3, 4]}]}}
    for name in QUESTIONS:
        about = {"models": {}, "survey": {"photos": [data]}}.get(name, {"photo": data})
        about |= rest.get(name, {})
        text, failed = tool(url, name, **about)
        assert not failed, text
        assert len(text.encode()) <= 2048
        found = json.loads(text)
        if name == "analyze":
            assert found["predictions"][0]["class"] == ours.predictions(1)[0].index
            largest = float(ours.attention(ours.trace.depth - 1).max())
            value = found["selection"]["attention"][0]["value"]
            assert value == pytest.approx(largest, rel=1e-3)
    # The shipped model has more patches, longer names and groups.
    text, _ = tool(url, "analyze", photo="dog", model="photos", rows=False)
    assert len(text.encode()) <= 2048
    assert '"dog' in text


def test_tools_take_addresses_of_this_server_and_no_other(url, picture):
    with picture.open("rb") as file:
        (path,) = httpx.post(f"{url}/gradio_api/upload", files={"files": file}, timeout=60).json()
    for address in (path, f"{url}/gradio_api/file={path}", f"https://x/y/gradio_api/file={path}"):
        text, failed = tool(url, "analyze", photo=address, model="tiny-cls")
        assert not failed, text
        assert json.loads(text)["photo"] == "a dog.png"
    for address in ("https://example.com/a.png", f"{url}/gradio_api/file=/etc/passwd", path + "x"):
        text, failed = tool(url, "analyze", photo=address)
        assert failed
        assert text.startswith("This picture is not here")


def test_a_tool_takes_a_picture_that_is_larger_than_other_questions(url):
    noise = np.random.default_rng(0).integers(0, 255, (200, 200, 3), dtype=np.uint8)
    data = encoded(noise)
    assert len(data) > limits.BODY_BYTES
    text, failed = tool(url, "explain", photo=data_address(data), model="tiny-cls")
    assert not failed, text


def test_numbers_of_one_hash_keep_nobody_waiting(url):
    """Python hashes each multiple of 2**61 - 1 to 0: a set of these took 18 seconds, in which the
    app answered nobody.
    """
    numbers = [(2**61 - 1) * count for count in range(1, 29_001)]
    change = {"kind": "remove", "patches": numbers}
    began = time.monotonic()
    text, failed = tool(url, "intervene", photo="dog", interventions=[change])
    assert failed
    assert "remove" in text
    assert time.monotonic() - began < 9


def test_the_examples_of_its_page_run(url, folder, monkeypatch, capsys):
    shutil.copy(ROOT / "vitviz/web/examples/cat.jpg", folder / "photo.jpg")
    monkeypatch.chdir(folder)
    page = (ROOT / "vitviz/web/README.md").read_text("utf-8").replace("http://127.0.0.1:7860", url)
    written = re.findall(r"^```(python|bash)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    over_http, curl, mcp = [(language, block) for language, block in written if url in block]
    names = {}
    exec(compile(over_http[1], "web/README.md", "exec"), names)
    assert names["summary"]["photo"]["name"] == "photo.jpg"
    assert vitviz.Analysis.load(names["file"]).predictions()
    assert names["why"]["relevance"]["explainer"] == "generic"
    assert names["without"]["changes"]
    assert names["twin"]["second"]["trained"] is False
    assert names["menu"]["default"] == "tiny-cls"
    exec(compile(mcp[1], "web/README.md", "exec"), {})
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (said["photo"], said["relevance"]["explainer"]) == ("dog.jpg", "rollout")
    assert curl[0] == "bash"
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    done = subprocess.run(["bash", "-c", curl[1]], capture_output=True, text=True, timeout=120)
    assert "event: complete" in done.stdout
    assert '"explainer": "rollout"' in done.stdout
