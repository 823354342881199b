"""Opening: decodes photos of visitors so that no photo blocks the others.

A small, ordinary photo is decoded in this process, a few at a time. Any other is decoded alone, in
a process of its own, which is killed when it takes too long: a decoder in this process cannot be
stopped.
"""

from ...errors import ImageError, VitvizError
from ...languages import Message
from ...model.decode import TooSlowError, decode
from ...model.photo import Photo, open_photo
from ...model.photo_parts import outline_of
from ..host import limits
from .turns import Turns

_small = Turns(limits.QUICK_PHOTOS, limits.OPERATING_LINE)
_large = Turns(limits.LARGE_PHOTOS, limits.COMPUTING_LINE)


def open_upload(data: bytes, name: str, stretch: bool = False) -> Photo:
    """`open_photo` of a visitor's file. Raises `ImageError` if it takes too long, too, and
    `VitvizError` if too many large photos wait.
    """
    busy = VitvizError(Message("web.busy"))
    if _is_quick(data):
        with _small.take(limits.OPENING_WAIT_SECONDS, busy):
            return open_photo(data, name, stretch=stretch)
    with _large.take(limits.OPENING_WAIT_SECONDS, busy):
        try:
            return decode(data, name, limits.OPENING_SECONDS, stretch)
        except TooSlowError as error:
            raise ImageError(Message("web.slow_photo", name=repr(name))) from error


def _is_quick(data: bytes) -> bool:
    """Whether decoding takes only a moment, judged by the outline; unknown formats have none. Even
    an outline takes long for many bytes.
    """
    if len(data) > limits.LARGE_PHOTO_BYTES:
        return False
    outline = outline_of(data)
    if outline is None or not outline.usual:
        return False
    megapixels = outline.pixels / 1e6
    return megapixels * max(1, outline.scans / 10) <= limits.LARGE_PHOTO_MEGAPIXELS
