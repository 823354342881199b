"""All limits of the web app; `Settings.apply` changes those that a host may set.

The limits of a picture (bytes, pixels, formats) are in `vitviz.model.photo`, because they also hold
for the Python API and the command line.
"""

import os
from collections import OrderedDict
from pathlib import Path
from typing import Any

from ...model.photo import MAX_BYTES


def usable_cores(quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Cores this process may use: those of its CPU affinity, or the container's quota if smaller.

    This is also the number of forward passes at a time. Two passes on two cores have about the
    throughput of one pass after the other on both (0.9 to 1.04 times, measured), but a small model
    does not wait for a large one. More passes than cores would only take memory.
    """
    allowed = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
    cores = len(allowed(0))
    try:
        microseconds, period = quota.read_text().split()
        return max(1, min(cores, int(microseconds) // int(period)))
    except (OSError, ValueError):  # the file is Linux only; "max" means no quota
        return cores


def keep(known: OrderedDict[Any, Any], key: object, value: object, most: int) -> None:
    """Put a value at the end of a mapping, and drop entries at its beginning beyond `most`."""
    known[key] = value  # never without it: another thread may ask for it at this moment
    try:
        known.move_to_end(key)
    except KeyError:  # another thread dropped it, which was the oldest
        known[key] = value
    while len(known) > most:
        known.popitem(last=False)


def workers(computing: int) -> int:
    """Number of requests at a time, so that some can wait for a download while others compute."""
    return min(computing + 2, 24)


UPLOAD_BYTES = MAX_BYTES  # of one file; larger uploads are cut off while they arrive
UPLOAD_SECONDS = 600  # for a file to arrive
UPLOAD_PARTS = 4  # files of one upload, and as many fields beside them
UPLOAD_FIELD_BYTES = 1000  # of a field, which lies in memory
UPLOADS = 64  # at a time
FIRST_UPLOADS = 200  # at a time, for an address without a running upload; for others `UPLOADS`
UPLOADS_OF_ADDRESS = 48  # at a time from one address, which a class can share; more are refused
PASS_OVER_SECONDS = 5  # to read the rest of a refused body
BODY_BYTES = 64_000  # of any other request; a viewer's question has some hundred bytes
BODY_SECONDS = 60  # for it to arrive
LANGUAGES_READ = 20  # entries of an Accept-Language header; browsers send fewer than ten
ADDRESS_LETTERS = 4096  # of a file's address or path, as Linux allows
TOOL_BYTES = 2_000_000  # of a question of a language model, which can hold a picture
TOOL_VALUES = 30_000  # JSON values of such a question
BODY_VALUES = 10_000  # of any other request, such as patches of an experiment
JSON_LISTS = 1_000  # lists and objects of any request: Gradio walks over nested ones many times
TOOL_PAUSES = 10  # pause after reading a long question of a tool, as a multiple of that time
QUEUE_SIZE = 64  # requests that may wait, of pages and programs
FIRST_QUEUE = 3  # times `QUEUE_SIZE`, for an address without a waiting request
QUEUE_SHARE = 0.75  # of the queue for one address, such as that of a school
STREAMS = 800  # open streams of events; a page has one or two
FIRST_STREAMS = 2400  # the same, for an address with fewer than `STREAMS_OF_PAGE` open
STREAMS_OF_PAGE = 4  # of one page, which may be opened twice
STREAMS_OF_ADDRESS = 400  # open streams of one address: a full class (VOTERS) behind one address
HEAD_BYTES = 32_000  # of the head of a request, as nginx takes it: 4 buffers of 8 kB
FIRST_LINE_BYTES = 8_000  # of its first line, with the address; nginx takes as many
PARAMETERS = 100  # of an address; a link of the page has some ten
HEAD_SECONDS = 60  # for it to arrive
CONNECTIONS_OF_ADDRESS = 4000  # open ones; more than its streams and requests
CONNECTIONS_SHARE = 0.75  # of the descriptors for connections of all addresses; files need others
ADDRESS_SHARE = 0.25  # of the descriptors for connections of one address
HEAD_LINES = 100  # headers of a request; browsers send some twenty
LANGUAGE_LETTERS = 1000  # of an Accept-Language header that are read
DIRECT_OF_ADDRESS = 6  # requests that compute without the queue, of one address at a time
# Questions of pages answered at a time, beside the queue, and as many of programs; each has a
# thread, most of the time waiting.
QUESTIONS = 8
FIRST_QUESTIONS = 24  # the same, for an address without a question that is being answered
QUICK_PHOTOS = min(4, usable_cores())  # small photos decoded at a time; each takes up to 0.1 GB
REQUESTS_INSIDE = 1500  # of one address at a time, waiting ones too: VOTERS, 6 connections each
ANSWER_SECONDS = 600  # for a client to take an answer; the file it reads from stays on the disk
ANSWER_PIECE_BYTES = 64_000  # of an answer in memory, for a client that reads slowly
DOCUMENTS = 1  # documents and configs that Gradio makes at a time: in Python, so more take longer
REQUESTS_OF_ADDRESS = 4  # short requests of one address that are answered at a time; others wait
DESCRIPTORS = 65_536  # open files and connections, where the system allows as many
LOG_LETTERS = 300  # of a warning in the log
LOG_LINES = 60  # warnings of one kind in a minute
EXHAUSTED_LOG_SECONDS = 60  # between two log lines when no descriptor is left
LOGIN_ADDRESSES = 1000  # addresses with wrong passwords that are remembered
LOGIN_SECONDS = 60  # longest wait for an answer after wrong passwords; the first one takes 1
DRAWING_WAIT_SECONDS = 30  # for other figures; they are drawn one at a time
ADDRESSES_KNOWN = 1000  # whose last turns of one kind are known
SHORT_TURN_SECONDS = 0.05  # least length of a turn in the ranking; assumed for a new address
LINE = 8  # callers that may wait for a turn of one kind that few ask for: figures, fair tests
# Callers that may wait to compute, for a large photo or for a model: all that are let in. A shorter
# line would refuse some pupils of a class that has an address each.
COMPUTING_LINE = FIRST_QUESTIONS + 24
OPERATING_LINE = 48  # who may wait for an experiment, weights or a page to take home: a class
LARGE_PHOTO_MEGAPIXELS = 8  # above it a photo is decoded in a process of its own
LARGE_PHOTO_BYTES = 8_000_000  # the same, whatever its pixels
LARGE_PHOTOS = 1  # decoded at a time; each takes up to 1.3 GB
OPENING_SECONDS = 20  # to decode a large photo; 64 megapixels take 2 on a core of a small host
OPENING_WAIT_SECONDS = 70  # for a turn, behind three photos of another visitor
COMPUTING_WAIT_SECONDS = 30  # for a turn to compute a forward pass or a rollout
# Explanations and fair tests, in operations: 2 for each parameter, token and pass. A core of a
# small host does some 5e10 a second; the shipped photo model takes 8e8 for a pass.
EXPLAINING_WORK = 4e12  # of one explanation
TESTING_WORK = 2e13  # of all steps of one fair test
# Heavy work has all places but one, so that a small photo does not wait for large ones. A single
# pass of ViT-S/16 is heavy, and one of the shipped photo model with 730 tokens.
MANY_PASSES = 10  # of one request
HEAVY_WORK = 4e9  # operations of one request
TESTING = 1  # steps of fair tests at a time; a test has some twenty, so visitors take turns
TESTING_WAIT_SECONDS = 10  # for the turn of a step; then a viewer retries: data/fairtest.js
TESTS_KNOWN = 200  # fair tests that can continue
LOADING_WAIT_SECONDS = 120  # for a model that another request is loading or downloading
COMPUTING = usable_cores()  # forward passes at a time, and as many rollouts
WORKERS = workers(COMPUTING)  # requests of pages in the queue at a time, and as many of programs
FIRST_WORKERS = 24  # the same, for an address without a running request
# Loaded models in memory: room for three ViT-B/16 of up to 372e6. The least recently used models
# are dropped; a model above the limit is kept alone. A running pass keeps its model.
MODELS_BYTES = 1200 * 10**6
ASSETS_BYTES = 16 * 10**6  # files of Gradio's page in memory, as they are sent
WEIGHTS_BYTES = 200 * 10**6  # files for pages in memory, of models that are not shipped
# Tokens of a model in a size that a visitor chooses: DINOv2's own 518 pixels have 1374.
SIZE_TOKENS = 1400
CACHE_SWEEP_SECONDS = 600  # between two sweeps of the cache; partial files of this age are deleted
CACHE_AGE_SECONDS = 3600  # uploads and the files of an analysis live this long
CACHE_BYTES = 4 * 10**9  # of all files in the cache; the oldest are deleted first
CACHE_FILES = 50_000  # in the cache, whose sweep takes a moment for each; the oldest go first
CACHE_MEASURE_SECONDS = 30  # between two measurements while files arrive
CACHE_MEASURE_SHARE = 0.05  # of the cache's limit; after so many new bytes it is measured at once
DISK_RESERVE_FILES = 50  # free entries (inodes) of the disk below which nothing new is stored
DISK_RESERVE_BYTES = 10**9  # free space of the disk below which nothing new is stored
ANALYSES_KNOWN = 1000  # analyses that a viewer can ask about
SESSIONS_KNOWN = 200  # sessions with a state in Gradio; a forgotten page still shows its picture
PILLOW_BLOCK_BYTES = 64 * 2**20  # blocks this large go back to the system when freed
MEMORY_BLOCK_BYTES = 4 * 2**20  # tensors this large go back to the system when freed
VOTERS = 200  # pages and handed-in self-checks in a class; further ones read that it is full
VOTER_GUESSES = 60  # questions of a voter, and closed ones of a teacher; the oldest are forgotten
VOTE_SHOWN_SECONDS = 5  # a vote that the teacher's page asked for counts as shown for this long
# Longest time between the last contact of a teacher's page and a start of the app for which guesses
# from before the start still count by themselves (classroom.py).
CLASS_GAP_SECONDS = 900
VOTE_BYTES = 100  # of one guess, as JSON
PAGES_KNOWN = 1000  # pages whose requests are known, see page_requests.py
SIGNAL_SECONDS = 1  # until the main thread notices a signal that reached another thread
CLOSING_SECONDS = 8  # for running requests when the app ends; `docker stop` kills after ten
CLOSING_QUIET_SECONDS = 1  # without requests; a page fetches its files right after its answer
PAGE_BYTES = 150e6  # all layers in a page to take home
PAGES_MADE = 1  # at a time; one of 1,370 tokens takes 0.3 GB
DONORS = 8  # other photos whose tokens one experiment takes; each is a pass of its own
TOP_CLASSES = 5  # predictions in the summary of the API
SURVEYED = 16  # photos of one survey of a program, whose answer has at most 2 kB
TOP_TOKENS = 5  # tokens in a short answer to a program
