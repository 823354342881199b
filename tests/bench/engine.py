"""What a pass takes in the page's engine (in Node, one thread), and as a multiple of torch's."""

import subprocess
import time
from statistics import median

import torch

from tests.node import JS, NODE
from tests.running import ROOT
from vitviz import load

WAYS = {
    "simd": "everything that the viewer draws from",
    "answer": "the answer alone",
    "erase": "the answer alone, half of the patches taken out",
    "plain": "everything, in plain JavaScript",
    "generic": "an explanation (generic), with its pass",
    "fair": "a fair test of two maps, once",
}


def engine(rounds: int) -> None:
    """Rows of both shipped models: milliseconds of a processor, the least and the median of all
    rounds, and the median of the ratios to a pass of torch on one thread, taken before each.
    """
    torch.set_num_threads(1)
    if NODE is None:
        print("the engine is not measured: there is no node\n")
        return
    print("| model | a pass of the engine for | least, ms | median, ms | times torch's |")
    print("|---|---|---|---|---|")
    for name in ("photos", "mnist"):
        loaded = load(name)
        config = loaded.card.config
        pixels = torch.rand(1, config.in_chans, *config.image_size)
        script, weights = JS / "engine_bench.js", ROOT / f"weights/{name}.safetensors"
        with subprocess.Popen(
            [NODE, script, weights], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            for way, words in WAYS.items():
                spent = []
                begins = 0 if way == "fair" else 3  # the first ones are compiled
                for turn in range(begins + (1 if way == "fair" else rounds)):
                    with torch.inference_mode():
                        begun = time.process_time()
                        loaded.vit(pixels)
                        torchs = 1000 * (time.process_time() - begun)
                    child.stdin.write(f"{way}\n")
                    child.stdin.flush()
                    ours = float(child.stdout.readline())
                    if turn >= begins:
                        spent.append((ours, torchs))
                ours_, ratios = [one for one, _ in spent], [one / other for one, other in spent]
                print(
                    f"| {name} | {words} | {min(ours_):.1f} | {median(ours_):.1f} "
                    f"| {median(ratios):.1f} |"
                )
            child.stdin.close()
    print()
