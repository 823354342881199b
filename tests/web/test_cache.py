"""The cache: what is swept, what is never touched, and a folder that another program deletes."""

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from tests.running import until
from vitviz.errors import VitvizError
from vitviz.web.host import limits
from vitviz.web.store import cache as cache_module
from vitviz.web.store.cache import BLOCK_BYTES, MARK, PREFIX, Cache
from vitviz.web.store.store import ExpiredError

LONG_AGO = limits.CACHE_AGE_SECONDS + 100
A_WHILE_AGO = limits.CACHE_SWEEP_SECONDS + 100


@pytest.fixture
def base(tmp_path):
    return tmp_path


@pytest.fixture
def cache(base):
    return Cache(base)


def put(path: Path, age: float = 0, size: int = 3) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return aged(path, age)


def aged(path: Path, age: float) -> Path:
    os.utime(path, (time.time() - age,) * 2)
    return path


def left_by_another(base: Path) -> Path:
    """The folder of a cache whose process has ended."""
    folder = base / f"{PREFIX}killed_1"
    (folder / MARK).mkdir(parents=True)
    return folder


def test_an_address_longer_than_any_path_is_none(cache):
    address = Path(cache.put(b"abc", "a.png"))
    long_way = f"{address.parent}/{'./' * limits.ADDRESS_LETTERS}{address.name}"
    assert long_way not in cache
    with pytest.raises(ExpiredError):
        cache.get(long_way)


def test_a_second_app_has_a_folder_beside_the_first(base, cache):
    assert cache.folder.parent == Cache(cache.folder).folder.parent == base
    assert cache.folder.is_dir()


def test_what_is_put_is_got_until_it_is_swept(cache):
    address = cache.put(b"abc", "a.png")
    assert cache.get(address) == b"abc"
    assert address in cache
    assert Path(address).name == "a.png"
    aged(Path(address), LONG_AGO)
    cache.sweep()
    assert address not in cache
    with pytest.raises(ExpiredError, match="this analysis has expired"):
        cache.get(address)


def test_only_what_lies_in_the_folder_is_read(base, cache):
    outside = put(base / "secret.txt")
    (cache.folder / "a").mkdir()
    (cache.folder / "a" / "link.txt").symlink_to(outside)
    inside = Path(cache.put(b"abc", "a.png")).parent
    escape = cache.folder / ".." / outside.name
    for address in (outside, escape, cache.folder / "a" / "link.txt", inside, "", "nowhere"):
        assert str(address) not in cache
        with pytest.raises(ExpiredError):
            cache.get(str(address))


@pytest.mark.parametrize("name", ["a" * 300, "가" * 200, "\0", "\ud800"])
def test_an_address_that_no_path_can_be_is_not_there(cache, name):
    """Visitors name addresses: each of these was an error of ours, with a traceback in the log."""
    for address in (f"{cache.folder}/{name}", name):
        assert address not in cache
        with pytest.raises(ExpiredError):
            cache.get(address)


def test_what_is_old_or_broke_off_is_swept_and_what_is_young_stays(cache):
    young = put(cache.folder / "a" / "photo.jpg", A_WHILE_AGO)
    old = put(cache.folder / "b" / "photo.jpg", LONG_AGO)
    arriving = put(cache.folder / "tmp1", A_WHILE_AGO / 2)
    broken_off = put(cache.folder / "tmp2", A_WHILE_AGO)
    cache.sweep()
    assert [path.exists() for path in (young, old, arriving, broken_off)] == [
        *(True, False, True, False),
    ]
    # A folder that has just become empty may be written to next.
    assert old.parent.is_dir()
    aged(old.parent, A_WHILE_AGO)
    aged(young.parent, A_WHILE_AGO)
    cache.sweep()
    assert not old.parent.exists()
    assert young.exists()


def test_two_sweeps_at_once_delete_what_is_too_much_once(cache, monkeypatch):
    """Both counted what one of them deleted, and the other deleted as much again."""
    for number in range(8):
        put(cache.folder / str(number) / "a.png", age=number, size=10)
    monkeypatch.setattr(limits, "CACHE_BYTES", 4 * cache_module._room_of(10))
    together, list_files = threading.Barrier(2), cache_module._files

    def listed(folder):
        found = [*list_files(folder)]
        if folder == str(cache.folder):
            with suppress(threading.BrokenBarrierError):
                together.wait(0.2)  # for the other one, which must not come
        return found

    monkeypatch.setattr(cache_module, "_files", listed)
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(cache.sweep), pool.submit(cache.sweep)]:
            done.result()
    left = sorted(path.parent.name for path in cache.folder.glob("*/a.png"))
    assert left == ["0", "1", "2", "3"]


def test_what_is_put_again_during_a_sweep_stays(cache, monkeypatch):
    address, files = cache.put(b"abc", "a.png"), cache_module._files
    aged(Path(address), LONG_AGO)

    def meanwhile(folder):
        yield from files(folder)
        if folder == str(cache.folder):
            cache.put(b"abc", "a.png")

    monkeypatch.setattr(cache_module, "_files", meanwhile)
    cache.sweep()
    assert address in cache


def test_beyond_the_bound_the_oldest_go_first(cache, monkeypatch):
    monkeypatch.setattr(limits, "CACHE_BYTES", 5 * BLOCK_BYTES)
    files = [put(cache.folder / str(age) / "x", age, 100) for age in (10, 40, 20, 30)]
    cache.sweep()
    assert [path.exists() for path in files] == [True, False, True, False]


def test_of_more_files_than_the_bound_the_oldest_go_first(cache, monkeypatch):
    monkeypatch.setattr(limits, "CACHE_FILES", 2)
    files = [put(cache.folder / str(age) / "x", age) for age in (10, 40, 20, 30)]
    cache.sweep()
    assert [path.exists() for path in files] == [True, False, True, False]


def test_a_small_file_counts_as_the_blocks_of_the_disk_that_it_takes(cache, monkeypatch):
    monkeypatch.setattr(limits, "CACHE_BYTES", 100 * BLOCK_BYTES)
    cache.check_room()  # measures
    for number in range(300):
        cache.put(b"%d" % number, "a.bin")
        cache.check_room()
    assert len([*cache.folder.rglob("*.bin")]) <= 50 * (1 + limits.CACHE_MEASURE_SHARE) + 1


def test_room_is_measured_while_files_come_in(cache, monkeypatch):
    sweeps: list[float] = []
    monkeypatch.setattr(cache, "sweep", lambda: sweeps.append(time.monotonic()))
    cache.check_room()
    cache.sweep_for_ever()
    until(lambda: len(sweeps) == 2)  # at the start, and the first measurement
    cache.check_room()
    assert not cache._due.is_set()  # measured a moment ago
    monkeypatch.setattr(limits, "CACHE_MEASURE_SECONDS", -1)
    cache.check_room()
    until(lambda: len(sweeps) == 3)


def test_old_files_are_deleted_though_nobody_asks_for_anything(cache, monkeypatch):
    """They stayed for ten minutes longer, until the next sweep."""
    monkeypatch.setattr(limits, "CACHE_AGE_SECONDS", 0.5)
    monkeypatch.setattr(limits, "CACHE_MEASURE_SECONDS", 0.01)
    cache.sweep_for_ever()
    for _ in range(2):
        path = Path(cache.put(b"x", "a.png"))
        assert path.exists()
        until(lambda path=path: not path.exists())


def test_nobody_waits_for_a_measurement_that_is_due(cache, monkeypatch):
    swept = threading.Event()
    monkeypatch.setattr(cache, "sweep", swept.set)
    monkeypatch.setattr(limits, "CACHE_MEASURE_SECONDS", -1)
    cache.check_room()
    cache.check_disk()
    assert not swept.is_set()


def test_the_reserve_of_the_disk_is_for_others(cache, monkeypatch):
    monkeypatch.setattr(limits, "DISK_RESERVE_BYTES", 10**18)
    with pytest.raises(VitvizError, match="no room for another analysis"):
        cache.check_room()


def test_a_cache_that_has_filled_the_disk_makes_room_for_the_next_visitor(cache, monkeypatch):
    """Everybody was refused until its files were an hour old."""
    others = [*(cache.folder.parent / name for name in ("a", "b"))]
    disk = 10 * BLOCK_BYTES

    def free(_: object) -> SimpleNamespace:
        files = [*cache.folder.rglob("x")]
        taken = sum(path.exists() for path in others) * 2 * BLOCK_BYTES
        return SimpleNamespace(free=disk - taken - 2 * BLOCK_BYTES * len(files))

    monkeypatch.setattr(shutil, "disk_usage", free)
    monkeypatch.setattr(limits, "DISK_RESERVE_BYTES", 4 * BLOCK_BYTES)
    files = [put(cache.folder / str(age) / "x", age) for age in (10, 40, 20, 30)]
    with pytest.raises(VitvizError, match="no room"):
        cache.check_disk()
    cache.sweep()
    cache.check_disk()
    assert [path.exists() for path in files] == [True, False, False, False]
    for path in others:  # now the disk is full without the cache
        path.touch()
    disk = 6 * BLOCK_BYTES
    cache.sweep()
    assert files[0].exists()
    with pytest.raises(VitvizError, match="no room"):
        cache.check_disk()


@pytest.mark.parametrize(
    ("limit", "ours", "spare", "most"),
    [
        (4000, 500, 10_000, 4000),  # a large disk
        (4000, 500, 700, 1000),  # what is there and a twentieth of the limit less
        (4000, 500, -100, 200),  # half of what is there, which is less than that
        (4000, 500, -500, 4000),  # nothing can be done
        (4000, 0, -1, 4000),
        (50_000, 7, float("inf"), 50_000),
    ],
)
def test_a_cache_takes_of_a_disk_what_is_left(limit, ours, spare, most):
    assert cache_module._most(limit, ours, spare) == most


@pytest.mark.parametrize(
    ("about", "says"),
    [
        ({"f_favail": limits.DISK_RESERVE_FILES - 1}, "no room for another analysis"),
        ({"f_favail": 0, "f_files": 0}, None),  # a file system that makes entries as it needs them
        ({"f_flag": os.ST_RDONLY}, "cannot keep anything"),
    ],
)
def test_a_disk_without_entries_or_read_only_is_noticed(cache, monkeypatch, about, says):
    usual = {"f_favail": 10**6, "f_files": 10**6, "f_flag": 0}
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(**usual | about))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10**18))
    with pytest.raises(VitvizError, match=says) if says else nullcontext():
        cache.check_disk()


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_disk_that_takes_nothing_is_said(cache, monkeypatch, number):
    def fails(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(cache_module, "save_atomic", fails)
    with pytest.raises(VitvizError, match="cannot keep anything on its disk"):
        cache.put(b"a", "a.png")


def test_a_folder_that_cannot_be_made_again_closes_no_file_of_others(cache, monkeypatch):
    """Its closed number was closed once more, when it was another file's."""

    def fails(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    shutil.rmtree(cache.folder)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", fails)
        with pytest.raises(VitvizError, match="cannot keep anything"):
            cache.check_disk()
        with Path(__file__).open() as other:
            with pytest.raises(VitvizError, match="cannot keep anything"):
                cache.check_disk()
            assert other.read(3) == '"""'
    cache.check_disk()
    assert cache.folder.is_dir()


def test_a_folder_that_somebody_deleted_is_made_again_and_held(base, cache):
    for _ in range(2):  # also if it was measured a moment ago
        shutil.rmtree(cache.folder)
        cache.check_room()
        assert (cache.folder / MARK).is_dir()
    (cache.folder / MARK).rmdir()  # as a cleaner of empty folders does
    cache.check_room()
    assert (cache.folder / MARK).is_dir()
    aged(cache.folder, LONG_AGO)
    Cache(base).sweep()
    assert cache.folder.is_dir()


HOLD = """
import os, signal, sys
from vitviz.web.store.cache import Cache
cache = Cache(sys.argv[1])
(cache.folder / "a").mkdir()
(cache.folder / "a" / "photo.jpg").write_text("a face")
print(cache.folder, flush=True)
signal.pause()
"""


def test_what_a_killed_process_left_is_deleted_by_the_next_and_a_live_one_is_left_alone(base):
    command = [sys.executable, "-c", HOLD, str(base)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        theirs = Path(process.stdout.readline().strip())
        aged(theirs, LONG_AGO)
        aged(theirs / "a" / "photo.jpg", LONG_AGO)
        ours = Cache(base)
        ours.sweep()
        assert (theirs / "a" / "photo.jpg").exists()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    ours.sweep()
    assert not theirs.exists()


def test_what_a_killed_process_left_makes_room_before_anything_is_written(base, monkeypatch):
    """An app that was killed on a full disk could not start again: its own files filled it."""
    left = put(left_by_another(base) / "a" / "photo.jpg", LONG_AGO)
    aged(left.parent.parent, LONG_AGO)
    make = tempfile.mkdtemp

    def on_a_full_disk(**options):
        if left.exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        return make(**options)

    monkeypatch.setattr(tempfile, "mkdtemp", on_a_full_disk)
    cache = Cache(base)
    assert [*base.iterdir()] == [cache.folder]


@pytest.mark.parametrize(
    "name",
    [
        *("0a1b2c", "vitviz", "vitviz-models", "vitviz-cat-tiny-cls", "vitviz-ray-0a1b2c3d"),
        *(PREFIX, f"{PREFIX}0a1b2c3d4", f"{PREFIX}0A1B2C3D", f"x{PREFIX}0a1b2c3d"),
    ],
)
def test_files_of_other_programs_are_never_touched(base, cache, name):
    """`vitviz-` and anything was enough: a folder of models, or what `vitviz look` wrote."""
    others = [put(base / name / "photo.jpg", LONG_AGO), put(base / "tmpabc", LONG_AGO)]
    others += [put(base / f"{PREFIX}0a1b2c3e", LONG_AGO)]  # a file
    others += [put(base / f"{PREFIX}0a1b2c3f" / "photo.jpg", LONG_AGO)]  # our name, not our mark
    (base / name / MARK).mkdir()
    for folder in base.iterdir():
        aged(folder, LONG_AGO)
    cache.sweep()
    Cache(base)
    assert all(path.exists() for path in others)


def test_a_link_of_our_name_is_not_followed(base, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    photo = put(elsewhere / "photo.jpg", LONG_AGO)
    (elsewhere / MARK).mkdir()
    aged(elsewhere, LONG_AGO)
    link = base / f"{PREFIX}0a1b2c3d"
    link.symlink_to(elsewhere)
    os.utime(link, (0, 0), follow_symlinks=False)
    Cache(base)
    assert photo.exists()


@pytest.mark.parametrize("name", ["vitviz-cache", "vitviz-pictures", f"{PREFIX}0a1b2c3d"])
def test_a_given_folder_with_a_name_like_ours_is_the_base(base, name):
    """Its parent was taken, and what lay there under such a name deleted."""
    given = base / name
    given.mkdir()
    other = put(base / "vitviz-models" / "a.safetensors", LONG_AGO)
    aged(other.parent, LONG_AGO)
    assert Cache(given).folder.parent == given
    assert other.exists()


def test_a_folder_of_another_user_keeps_no_app_from_starting(base, monkeypatch):
    left, stat = left_by_another(base), Path.stat
    aged(left, LONG_AGO)

    def refused(path, **options):
        if path.parent == left:
            raise PermissionError(errno.EACCES, "Permission denied")
        return stat(path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", refused)
        Cache(base)
    assert left.is_dir()


def test_an_app_in_the_process_of_one_that_has_ended_has_the_same_base(base):
    """The environment still names the folder of the first."""
    first = Cache(base)
    first.delete()
    assert Cache(first.folder).folder.parent == base


def test_a_deletion_that_breaks_off_is_done_again(base, monkeypatch):
    left = left_by_another(base)
    photo = put(left / "a" / "photo.jpg", LONG_AGO)
    aged(left, LONG_AGO)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            Cache(base)
    assert photo.exists()
    Cache(base)
    assert not left.exists()


def test_a_folder_of_which_something_stays_keeps_its_mark_and_goes_later(base, monkeypatch):
    left = left_by_another(base)
    photo = put(left / "a" / "photo.jpg", LONG_AGO)
    put(left / "b" / "photo.jpg", LONG_AGO)
    aged(left, LONG_AGO)
    whole = shutil.rmtree

    def in_use(folder, **options):  # as Windows refuses an open file
        if Path(folder).name not in ("a", left.name):
            whole(folder, **options)

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", in_use)
        Cache(base)
    assert photo.exists()
    assert {*left.iterdir()} == {left / "a", left / MARK}
    aged(left, LONG_AGO)
    Cache(base)
    assert not left.exists()


def test_a_folder_that_cannot_be_marked_stops_the_start_with_a_sentence(base, monkeypatch):
    make = Path.mkdir

    def on_a_full_disk(path, *given, **options):
        if path.name == MARK:
            raise OSError(errno.ENOSPC, "No space left on device")
        make(path, *given, **options)

    monkeypatch.setattr(Path, "mkdir", on_a_full_disk)
    with pytest.raises(VitvizError, match="cannot be used: No space left on device"):
        Cache(base)
    assert not [*base.iterdir()]


def test_at_the_end_nothing_is_left(cache):
    put(cache.folder / "a" / "photo.jpg")
    put(cache.folder / "tmp1")
    cache.delete()
    assert not cache.folder.exists()


def test_files_that_belong_together_are_all_kept_or_none(cache, monkeypatch):
    shared = cache.put(b"shared", "a.png")
    write, written = cache_module.save_atomic, []

    def full(data, path):
        if data == b"last":
            # Another page puts one of these files again while this request fails.
            os.utime(written[-1], (time.time() + 5,) * 2)
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(str(path))
        return write(data, path)

    monkeypatch.setattr(cache_module, "save_atomic", full)
    files = [(b"shared", "a.png"), (b"new", "b.png"), (b"renewed", "c.png"), (b"last", "d.png")]
    with pytest.raises(VitvizError, match="no room for another analysis"):
        cache.put_all(files)
    assert [cache.get(shared), cache.get(written[-1])] == [b"shared", b"renewed"]
    assert written[1] not in cache
    with pytest.raises(VitvizError, match="no room"):
        cache.put(b"last", "e.png")


def test_bytes_are_read_once_for_their_address(cache, monkeypatch):
    hashed, blake2b = [], hashlib.blake2b
    monkeypatch.setattr(
        hashlib, "blake2b", lambda data, **how: hashed.append(data) or blake2b(data, **how)
    )
    first, again = (cache.put_all([(b"one", "a.png"), (b"two", "b.png")]) for _ in "ab")
    assert hashed == [b"one", b"two"] * 2
    assert first == again


def test_folders_that_were_left_empty_are_swept(cache):
    for name in ("failed", "filled"):
        (cache.folder / name).mkdir()
    put(cache.folder / "filled" / "a.png")
    for name in ("failed", "filled", MARK):
        aged(cache.folder / name, A_WHILE_AGO)
    cache.sweep()
    assert {path.name for path in cache.folder.iterdir()} == {"filled", MARK}


def test_who_writes_fast_does_not_exceed_the_bound_until_the_next_measurement(cache, monkeypatch):
    monkeypatch.setattr(limits, "CACHE_BYTES", 1000)
    cache.check_room()  # measures; the next time would be due much later
    for number in range(100):
        cache.put(bytes([number]) * 40, "a.bin")
        cache.check_room()
        held = sum(path.stat().st_size for path in cache.folder.rglob("*.bin"))
        assert held <= 1000 * (1 + limits.CACHE_MEASURE_SHARE) + 40


def test_a_folder_that_cannot_be_made_stops_the_start_with_a_sentence(base):
    (base / "file").touch()
    for one in (base / "file", base / "file" / "inside"):
        with pytest.raises(VitvizError, match=r"cannot be used: .*GRADIO_TEMP_DIR names another"):
            Cache(one)
