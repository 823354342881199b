"""Korean for what reaches a visitor in words: errors, notes about a photo, facts about a model.

A sentence is written once, in English, where it is raised. Here it stands as a template, with {}
for what was filled in, and its Korean beside it; `in_korean` finds the template that a sentence was
made of. What only a command line or a notebook can meet stays English.
"""

import re
from functools import cache

# In the Korean text {0} is what filled the first {} of the English one.
SENTENCES = {
    # photo.py: errors
    "{} is empty (0 bytes). {}": "{0}은(는) 빈 파일입니다(0바이트). {1}",
    "{} is larger than {} MB. {}": "{0}은(는) {1} MB보다 큽니다. {2}",
    "{} cannot be read: {}.": "{0}을(를) 읽을 수 없습니다: {1}.",
    "{} is not a picture we can read: {}. {}": "{0}은(는) 읽을 수 있는 그림이 아닙니다: {1}. {2}",
    "{} begins like a {} file, but it is cut off or damaged. Save it again and retry.": (
        "{0}은(는) {1} 파일처럼 시작하지만 잘렸거나 손상되었습니다. 다시 저장해서 올려 주세요."
    ),
    "{} is {} x {} pixels: there is nothing to see.": (
        "{0}은(는) {1} x {2}픽셀이라 볼 것이 없습니다."
    ),
    "{} is too large: {} ({} megapixels). At most {} megapixels are allowed: make it smaller and"
    " retry.": (
        "{0}은(는) 너무 큽니다: {1} ({2}메가픽셀). 최대 {3}메가픽셀까지 됩니다."
        " 줄여서 다시 올려 주세요."
    ),
    "{} holds {} colours, which cannot be shown. {}": (
        "{0}은(는) {1} 방식의 색이라 보여 드릴 수 없습니다. {2}"
    ),
    "{} holds NaN or infinite values; every pixel needs a number.": (
        "{0}에 NaN이나 무한대가 있습니다. 픽셀은 모두 숫자여야 합니다."
    ),
    # photo.py: parts of those sentences
    "Allowed are {} and {} files of at most {} MB and {} megapixels.": (
        "{0}, {1} 파일을 {2} MB, {3}메가픽셀까지 올릴 수 있습니다."
    ),
    "{} pixels": "{0}픽셀",
    "{} x {} pixels": "{0} x {1}픽셀",
    "it is text": "텍스트 파일입니다",
    "it is a video": "동영상입니다",
    "it is a web page": "웹 페이지입니다",
    "its format is unknown": "알 수 없는 형식입니다",
    "it is a HEIC photo, as iPhones make them; export it as JPEG": (
        "아이폰이 만드는 HEIC 사진입니다. JPEG로 내보내 주세요"
    ),
    "it is an SVG drawing, not pixels; export it as PNG": (
        "픽셀이 아니라 SVG 도형입니다. PNG로 내보내 주세요"
    ),
    "it is a PDF document; export the page as PNG": ("PDF 문서입니다. 쪽을 PNG로 내보내 주세요"),
    "it is a PostScript file; export it as PNG": ("PostScript 파일입니다. PNG로 내보내 주세요"),
    "it is a ZIP archive or an office document": "ZIP 압축 파일이거나 오피스 문서입니다",
    "it is a compressed archive": "압축 파일입니다",
    "it is a Photoshop file; export it as PNG": "포토샵 파일입니다. PNG로 내보내 주세요",
    "it is an icon; save it as PNG": "아이콘입니다. PNG로 저장해 주세요",
    "it begins like a {} file, but it is damaged": ("{0} 파일처럼 시작하지만 손상되었습니다"),
    "it begins like a WebP or a sound file, but it holds no picture": (
        "WebP나 소리 파일처럼 시작하지만 그림이 없습니다"
    ),
    # photo.py: notes
    "first page of several": "여러 쪽 가운데 첫 쪽입니다",
    "first frame of an animation": "움직이는 그림의 첫 장면입니다",
    "first of {} frames": "장면 {0}개 가운데 첫 장면입니다",
    "turned upright as its EXIF data says": "EXIF 정보에 따라 바로 세웠습니다",
    "transparent parts shown on white": "투명한 부분은 흰 바탕 위에 보입니다",
    "CMYK colours converted to RGB without their colour profile": (
        "CMYK 색을 색 프로파일 없이 RGB로 바꾸었습니다"
    ),
    "16-bit values scaled to 8 bits": "16비트 값을 8비트로 줄였습니다",
    "32-bit values from 0 to {} scaled to 8 bits": (
        "0부터 {0}까지의 32비트 값을 8비트로 줄였습니다"
    ),
    "32-bit values from {} to {} stretched to 8 bits": (
        "{0}부터 {1}까지의 32비트 값을 8비트로 폈습니다"
    ),
    # timm_models.py: what a model of the menu can fail with
    "the weights of {} are not on this machine and there is no connection to the Hugging Face hub"
    " to download them; {} work without a network": (
        "{0}의 가중치가 이 컴퓨터에 없고, 내려받을 허깅페이스 허브에 연결되지 않습니다."
        " 네트워크 없이 쓸 수 있는 모델: {1}"
    ),
    "the Hugging Face hub did not give the weights of {}: {}": (
        "허깅페이스 허브에서 {0}의 가중치를 받지 못했습니다: {1}"
    ),
    "timm could not build {}: {}": "timm이 {0}을(를) 만들지 못했습니다: {1}",
    # probe
    "q or k of layer {} is larger than half precision can hold (65504)": (
        "레이어 {0}의 q나 k가 반정밀도로 담을 수 있는 수(65504)보다 큽니다"
    ),
    "{} computes values without bounds; its weights are damaged": (
        "{0}의 계산 결과가 끝없이 커집니다. 가중치가 손상되었습니다"
    ),
    "{} has no learned position embedding": "{0}에는 학습된 위치 임베딩이 없습니다",
    "{} names no classes: there are no predictions to draw": (
        "{0}은(는) 클래스를 말하지 않아 그릴 예측이 없습니다"
    ),
    # the shipped models: what they are called, and what their files say of them
    "Everyday photos, 100 kinds of things": "일상 사진, 100가지 사물",
    "Handwritten digits": "손글씨 숫자",
    "Handwritten digits, as in the lecture notes": "손글씨 숫자, 강의 노트의 모델",
    "{}: {} training and {} test pictures, {} classes": (
        "{0}: 학습용 그림 {1}장, 시험용 그림 {2}장, 클래스 {3}개"
    ),
    "Pictures of Tiny ImageNet, a subset of ILSVRC: non-commercial research and educational use;"
    " copyright stays with the photographers, no picture is in this file": (
        "ILSVRC의 일부인 Tiny ImageNet의 사진: 비상업적 연구와 교육에만 쓸 수 있습니다."
        " 저작권은 사진을 찍은 사람에게 있고, 이 파일에 사진은 들어 있지 않습니다"
    ),
    "MNIST: Y. LeCun, C. Cortes and C. Burges, usually stated as CC BY-SA 3.0": (
        "MNIST: Y. LeCun, C. Cortes, C. Burges. 보통 CC BY-SA 3.0으로 밝힙니다"
    ),
    "as the data set's": "데이터의 조건과 같음",
    "{} min": "{0}분",
    "{}: commit {}, images seen {}, wall time {}, SHA-256 {}": (
        "{0}: 커밋 {1}, 본 그림 {2}장, 학습 시간 {3}, SHA-256 {4}"
    ),
    # where weights are from
    "{}, trained with vitviz": "{0}, vitviz로 학습",
    "{}, a torchvision checkpoint": "{0}, torchvision의 체크포인트",
    "untrained: random weights with which training began (seed {})": (
        "학습 전: 학습이 시작된 무작위 가중치 (시드 {0})"
    ),
    "untrained: random weights of a fixed seed": "학습 전: 정해진 시드의 무작위 가중치",
    # models of timm on the menu
    "{}, self-supervised (timm)": "{0}, 자기 지도 학습 (timm)",
    "{} with registers (timm)": "{0}, 레지스터 있음 (timm)",
    # pictures: the examples, which films show too
    "dog": "개",
    "cat": "고양이",
    "red panda": "레서판다",
    "red-panda": "레서판다",
    "bison": "들소",
    "goldfish": "금붕어",
    "coffee": "커피",
    "digit": "숫자",
    # web
    "Something went wrong on our side. It has been logged; please try another picture or model.": (
        "저희 쪽에서 문제가 생겨 기록해 두었습니다. 다른 그림이나 모델로 시도해 주세요."
    ),
    "Upload the picture itself: links and paths are not opened.": (
        "그림 파일을 직접 올려 주세요. 링크나 경로는 열지 않습니다."
    ),
    "this request is larger than what is taken here": "요청이 여기서 받는 크기보다 큽니다",
    "this server is being restarted; try again in a minute": (
        "서버를 다시 시작하는 중입니다. 잠시 뒤에 다시 시도해 주세요"
    ),
    "there is no model {} here; choose one of {}": (
        "{0}(이)라는 모델은 여기에 없습니다. 다음에서 골라 주세요: {1}"
    ),
    "many figures are being drawn; try again in a minute": (
        "지금 그리는 그림이 많습니다. 잠시 뒤에 다시 시도해 주세요"
    ),
    "this server computes for many others; try again in a minute": (
        "지금 많은 분이 쓰고 있습니다. 잠시 뒤에 다시 시도해 주세요"
    ),
    "{} is being loaded for somebody else; try again in a minute, or choose another": (
        "{0}은(는) 다른 분을 위해 불러오는 중입니다."
        " 잠시 뒤에 다시 시도하거나 다른 모델을 골라 주세요"
    ),
    "this model came without a film of its training": (
        "이 모델에는 학습 과정을 담은 영상이 없습니다"
    ),
    "the film of this training cannot be read any more": (
        "이 학습 과정의 영상을 더는 읽을 수 없습니다"
    ),
    "this analysis has expired; analyze the picture again": (
        "이 분석은 기한이 지났습니다. 그림을 다시 분석해 주세요"
    ),
    "this server has no room for another analysis; try again in an hour": (
        "서버에 새 분석을 둘 자리가 없습니다. 한 시간 뒤에 다시 시도해 주세요"
    ),
    "{} was deleted after about an hour; choose it again": (
        "{0}은(는) 한 시간쯤 지나 지워졌습니다. 다시 골라 주세요"
    ),
}

MOST_LETTERS = 1000  # of a sentence; matching a longer one is not worth the time


def in_korean(sentence: str) -> str:
    """The sentence in Korean; one that is not in the dictionary stays as it is.

    The first letter may be a capital one and the last a full stop that its template lacks.
    """
    if len(sentence) > MOST_LETTERS:
        return sentence
    for pattern, korean in _patterns():
        if found := pattern.fullmatch(sentence):
            text = korean.format(*(in_korean(part) for part in found.groups()))
            return text if text[-1] in ".!?" or not sentence.endswith(".") else f"{text}."
    return sentence


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Templates as patterns, those with most words of their own first: they fit most narrowly."""
    ordered = sorted(SENTENCES.items(), key=lambda entry: -len(entry[0].replace("{}", "")))
    return tuple((_pattern(english), korean) for english, korean in ordered)


def _pattern(english: str) -> re.Pattern[str]:
    source = re.escape(english.removesuffix(".")).replace(r"\{\}", "(.*?)")
    if english[0].isalpha():
        source = f"(?i:{source[0]}){source[1:]}"
    return re.compile(source + r"\.?", re.DOTALL)
