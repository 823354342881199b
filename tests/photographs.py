"""Photographs that nobody tuned to: pictures that packages bring, by package, file and hash."""

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple


class Photograph(NamedTuple):
    package: str
    file: str
    sha256: str

    def path(self) -> Path | None:
        """Where it lies; None where the package is not installed or brings another picture."""
        spec = find_spec(self.package)
        if spec is None or spec.origin is None:
            return None
        path = Path(spec.origin).parent / self.file
        same = path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == self.sha256
        return path if same else None


# scikit-image, scikit-learn, matplotlib and Gradio.
PHOTOGRAPHS = (
    Photograph(
        "skimage",
        "data/astronaut.png",
        "88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5",
    ),
    Photograph(
        "skimage",
        "data/camera.png",
        "b0793d2adda0fa6ae899c03989482bff9a42d3d5690fc7e3648f2795d730c23a",
    ),
    Photograph(
        "skimage",
        "data/cell.png",
        "8d23a7fb81f7cc877cd09f330357fc7f595651306e84e17252f6e0a1b3f61515",
    ),
    Photograph(
        "skimage",
        "data/chelsea.png",
        "596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb",
    ),
    Photograph(
        "skimage",
        "data/coffee.png",
        "cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7",
    ),
    Photograph(
        "skimage",
        "data/coins.png",
        "f8d773fc9cfa6f4d8e5942dc34d0a0788fcaed2a4fefbbed0aef5398d7ef4cba",
    ),
    Photograph(
        "skimage",
        "data/hubble_deep_field.jpg",
        "3a19c5dd8a927a9334bb1229a6d63711b1c0c767fb27e2286e7c84a3e2c2f5f4",
    ),
    Photograph(
        "skimage",
        "data/ihc.png",
        "f8dd1aa387ddd1f49d8ad13b50921b237df8e9b262606d258770687b0ef93cef",
    ),
    Photograph(
        "skimage",
        "data/moon.png",
        "78739619d11f7eb9c165bb5d2efd4772cee557812ec847532dbb1d92ef71f577",
    ),
    Photograph(
        "skimage",
        "data/motorcycle_left.png",
        "db18e9c4157617403c3537a6ba355dfeafe9a7eabb6b9b94cb33f6525dd49179",
    ),
    Photograph(
        "skimage",
        "data/retina.jpg",
        "38a07f36f27f095e818aea7b96d34202c05176d30253c66733f2e00379e9e0e6",
    ),
    Photograph(
        "skimage",
        "data/rocket.jpg",
        "c2dd0de7c538df8d111e479619b129464d0269d0ae5fd18ca91d33a7fdfea95c",
    ),
    Photograph(
        "sklearn",
        "datasets/images/china.jpg",
        "8378025ad2519d649d02e32bd98990db4ab572357d9f09841c2fbfbb4fefad29",
    ),
    Photograph(
        "sklearn",
        "datasets/images/flower.jpg",
        "a77f6ec41e353afdf8bdff2ea981b2955535d8d83294f8cfa49cf4e423dd5638",
    ),
    Photograph(
        "matplotlib",
        "mpl-data/sample_data/grace_hopper.jpg",
        "a8ca6d734765703b09728ab47fe59f473d93ae3967fc24c7c0288c3c7adb7130",
    ),
    Photograph(
        "gradio",
        "media_assets/images/lion.jpg",
        "4c45ece00075f152cb2e6cfd5f1dfd7dc8e83042264685b4f470026240eff3ef",
    ),
    Photograph(
        "gradio",
        "media_assets/images/tower.jpg",
        "f57f96f7a71f89739d27ae8ffc09f73cd2f17415d16c94d42dcb0d571f4eb0ee",
    ),
)
