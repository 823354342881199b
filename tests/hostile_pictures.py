"""Pictures of few bytes that take a decoder long, or much memory."""

import struct
import zlib

from PIL import Image

from tests.test_photo import encode


def segment(marker: int, body: bytes = b"") -> bytes:
    """A segment of a JPEG."""
    return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body


def chunk(kind: bytes, body: bytes = b"") -> bytes:
    """A chunk of a PNG."""
    check = struct.pack(">I", zlib.crc32(kind + body))
    return struct.pack(">I", len(body)) + kind + body + check


def progressive(side: int, scans: int) -> bytes:
    """A grey JPEG of side x side pixels: one scan of means, then scans of coefficients that are all
    0, in as few bytes as there can be: each names runs of up to 32,767 blocks without any.
    """
    blocks = (-(-side // 8)) ** 2
    head = b"\xff\xd8" + segment(0xDB, b"\0" + bytes([1] * 64))
    head += segment(0xC2, struct.pack(">BHHB", 8, side, side, 1) + b"\x01\x11\x00")
    for table, symbol in ((0x00, 0x00), (0x10, 0xE0)):  # each has the code 0 for one symbol
        head += segment(0xC4, bytes([table, 1, *[0] * 15, symbol]))
    means = segment(0xDA, bytes([1, 1, 0, 0, 0, 0])) + coded("0" * blocks)
    empty = segment(0xDA, bytes([1, 1, 0, 1, 63, 0])) + coded(
        "011111111111111" * -(-blocks // 32767)
    )
    return head + means + empty * (scans - 1) + b"\xff\xd9"


def coded(bits: str) -> bytes:
    bits += "1" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8).replace(b"\xff", b"\xff\x00")


def jpeg_with(*segments: bytes) -> bytes:
    data = encode(Image.new("RGB", (9, 6), "red"), "JPEG")
    return data[:2] + b"".join(segments) + data[2:]


def png_with(*chunks: bytes) -> bytes:
    data = encode(Image.new("RGB", (9, 6), "red"))
    return data[:33] + b"".join(chunks) + data[33:]


def slow_gif(seconds: float) -> bytes:
    """A GIF whose comment Pillow puts together in about so many seconds, in time by its square."""
    data = encode(Image.new("L", (1, 1)), "GIF")
    count = int(500_000 * seconds**0.5)
    return data[:13] + data[13:].replace(b",", b"!\xfe" + b"\x01c" * count + b"\0,", 1)
