/** Korean names of the classes of the shipped photo model; a model brings its own in English. */

import { languageOf } from "./language.js";

const KOREAN = {
  goldfish: "금붕어", bullfrog: "황소개구리", "American alligator": "미시시피악어", "boa constrictor": "보아뱀",
  "black widow": "검은과부거미", tarantula: "타란툴라", goose: "거위", koala: "코알라", jellyfish: "해파리",
  snail: "달팽이", "American lobster": "바닷가재", "black stork": "먹황새", "king penguin": "임금펭귄",
  albatross: "앨버트로스", Chihuahua: "치와와", "Yorkshire terrier": "요크셔테리어",
  "golden retriever": "골든 리트리버", "Labrador retriever": "래브라도 리트리버", "German shepherd": "저먼 셰퍼드",
  "standard poodle": "스탠더드 푸들", tabby: "줄무늬 고양이", "Persian cat": "페르시아고양이",
  "Egyptian cat": "이집트고양이", cougar: "퓨마", lion: "사자", "brown bear": "불곰", ladybug: "무당벌레",
  fly: "파리", bee: "벌", grasshopper: "메뚜기", dragonfly: "잠자리", monarch: "제왕나비",
  "sulphur butterfly": "노랑나비", "guinea pig": "기니피그", hog: "돼지", ox: "황소", bison: "들소",
  bighorn: "큰뿔양", gazelle: "가젤", "Arabian camel": "단봉낙타", orangutan: "오랑우탄", chimpanzee: "침팬지",
  baboon: "개코원숭이", "African elephant": "아프리카코끼리", "lesser panda": "레서판다", backpack: "배낭",
  barn: "헛간", basketball: "농구공", "beach wagon": "스테이션왜건", beacon: "등대", "bow tie": "나비넥타이",
  "bullet train": "고속열차", cardigan: "카디건", "computer keyboard": "컴퓨터 키보드", convertible: "오픈카",
  desk: "책상", "dining table": "식탁", fountain: "분수", "freight car": "화물 열차", gondola: "곤돌라",
  kimono: "기모노", lifeboat: "구명정", limousine: "리무진", "military uniform": "군복",
  "moving van": "이삿짐 트럭", "police van": "경찰 승합차", refrigerator: "냉장고", "rocking chair": "흔들의자",
  sandal: "샌들", "school bus": "스쿨버스", "spider web": "거미줄", "sports car": "스포츠카",
  "steel arch bridge": "강철 아치교", sunglasses: "선글라스", "suspension bridge": "현수교", teapot: "찻주전자",
  teddy: "곰 인형", tractor: "트랙터", "triumphal arch": "개선문", trolleybus: "무궤도 전차", umbrella: "우산",
  viaduct: "고가교", "water tower": "급수탑", guacamole: "과카몰레", "ice cream": "아이스크림", pretzel: "프레첼",
  cauliflower: "콜리플라워", "bell pepper": "피망", mushroom: "버섯", orange: "오렌지", lemon: "레몬",
  banana: "바나나", pomegranate: "석류", pizza: "피자", espresso: "에스프레소", alp: "고산", cliff: "절벽",
  "coral reef": "산호초", lakeside: "호숫가", seashore: "바닷가",
};

/**
 * A class in the visitor's language; one that is not known here stays as it came.
 * @param {string} label  from the checkpoint
 * @param {string} language
 * @returns {string}
 */
export function labelName(label, language) {
  const korean = languageOf(language) === "ko" && Object.hasOwn(KOREAN, label);
  return korean ? KOREAN[label] : label;
}
