/** A part of the page as PNG: its elements and styles are drawn into a canvas, with a caption. */

/** Pixels of the PNG per pixel of the page, so that text stays sharp on paper. */
const SHARPNESS = 2;

/** Pixels of the page around what is saved, as .vv-snapshot has them. */
const MARGIN = 14;

/** Phones with a Safari before 18 draw nothing into a canvas of more than 4096 x 4096 pixels. */
const MOST_PIXELS = 16e6;

/**
 * @param {HTMLElement} node  a visible element
 * @param {string[]} caption  lines below the picture
 * @returns {Promise<Blob>}
 */
export async function snapshot(node, caption) {
  const root = node.closest(".vitviz");
  // On a phone only the children of the stage have boxes (display: contents).
  const width = Math.max(...[node, ...node.children].map((part) => part.getBoundingClientRect().width));
  const sheet = copyOf(node);
  const frame = document.createElement("div");
  frame.className = "vv-snapshot";
  const lines = document.createElement("div");
  lines.className = "vv-snapshot-caption";
  for (const text of caption) {
    const line = document.createElement("p");
    line.textContent = text;
    lines.append(line);
  }
  frame.style.width = Math.ceil(width) + "px";
  frame.style.fontFamily = lastingFonts(getComputedStyle(root).fontFamily);
  frame.append(sheet, lines);
  root.append(frame); // it is measured with the styles of the page
  const box = frame.getBoundingClientRect();
  const { zoom, ...size } = sizeOf(box, globalThis.CSS.supports("zoom", "2"));
  const markup = svgOf(frame, root, size, zoom);
  frame.remove();
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(markup);
  await image.decode();
  return draw(image, size, Math.round(MARGIN * zoom));
}

/**
 * Size of the PNG of a box, in pixels, and how much larger it is than the box.
 * @param {{width: number, height: number}} box
 * @param {boolean} zooms  Firefox before 126 draws everything as large as it is
 */
export function sizeOf({ width, height }, zooms) {
  const zoom = zooms ? Math.min(SHARPNESS, Math.sqrt(MOST_PIXELS / (width * height))) : 1;
  return { zoom, width: Math.ceil(width * zoom), height: Math.ceil(height * zoom) };
}

async function draw(image, { width, height }, below) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  // A browser may break a line later in a picture than on the page: what is then left over is cut off.
  const pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
  let rows = height;
  while (rows > 1 && pixels.subarray((rows - 1) * width, rows * width).every((pixel) => pixel === pixels[0]))
    rows--;
  if (rows + below < height) {
    const kept = context.getImageData(0, 0, width, rows + below);
    canvas.height = rows + below;
    context.putImageData(kept, 0, 0);
  }
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => {
      if (blob) resolve(blob);
      else reject(new Error("the browser made no PNG of " + width + " x " + height));
    }, "image/png"),
  );
}

/** A copy of a node with what cloneNode loses: pixels of canvases and states of controls. */
function copyOf(node) {
  const copy = node.cloneNode(true);
  const twins = (selector) =>
    [...node.querySelectorAll(selector)].map((original, at) => [
      original,
      copy.querySelectorAll(selector)[at],
    ]);
  for (const [original, twin] of twins("canvas")) {
    twin.style.backgroundImage = "url(" + original.toDataURL() + ")";
    twin.style.backgroundSize = "100% 100%";
  }
  for (const [original, twin] of twins("input")) {
    twin.setAttribute("value", original.value);
    twin.toggleAttribute("checked", original.checked);
    twin.removeAttribute("name"); // else checking the copy of a radio button would uncheck the original
  }
  for (const [original, twin] of twins("option")) twin.toggleAttribute("selected", original.selected);
  for (const [original, twin] of twins("progress")) twin.setAttribute("value", String(original.value));
  for (const hidden of copy.querySelectorAll("[hidden]")) hidden.remove();
  return copy;
}

/** The frame as a self-contained SVG, inside copies of all ancestors that style rules may refer to. */
function svgOf(frame, root, { width, height }, zoom) {
  let inner = frame.cloneNode(true);
  inner.style.position = "static"; // it was off the screen while it was measured
  for (let parent = root; parent; parent = parent.parentElement) {
    const shell = parent.cloneNode(false);
    shell.removeAttribute("id");
    if (parent !== root) shell.setAttribute("style", "all: unset; display: block");
    shell.append(inner);
    inner = shell;
  }
  // html and body cannot stand inside an SVG: a div with their classes replaces them.
  const page = document.createElement("div");
  page.className = document.documentElement.className + " " + document.body.className;
  const { backgroundColor, fontFamily } = getComputedStyle(frame);
  // CSS zoom enlarges the picture: if the canvas did, Safari would draw shadows out of place.
  page.setAttribute("style", "font-family: " + fontFamily + "; zoom: " + zoom);
  page.setAttribute("xmlns", "http://www.w3.org/1999/xhtml");
  page.lang = document.documentElement.lang; // line breaks depend on the language
  page.append(style(), ...(inner.querySelector("body")?.childNodes ?? [inner]));
  const body = new XMLSerializer().serializeToString(page);
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `style="background: ${backgroundColor}">` +
    `<foreignObject width="100%" height="100%">${withoutControls(body)}</foreignObject></svg>`
  );
}

/** A text without the control characters that XML forbids. */
function withoutControls(text) {
  return text.replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "");
}

/** The font families that the system has: an SVG loads no fonts, and others would change line breaks. */
function lastingFonts(families) {
  const name = (text) => text.trim().replace(/^["']|["']$/g, "");
  const loaded = new Set([...document.fonts].map(({ family }) => name(family)));
  return families
    .split(",")
    .filter((family) => !loaded.has(name(family)))
    .join(",");
}

/** All style rules of the page that apply to the viewer. */
function style() {
  const rules = [];
  for (const sheet of document.styleSheets) {
    try {
      rules.push(...rulesOf(sheet.cssRules).filter((text) => text.includes("vitviz")));
    } catch {
      // A sheet of another origin cannot be read, but ours are never there.
    }
  }
  const node = document.createElement("style");
  node.textContent = rules.join("\n");
  return node;
}

/** Rules without their media queries, which are evaluated for the page and not for the picture. */
function rulesOf(rules) {
  return [...rules].flatMap((rule) => {
    if (!(rule instanceof CSSMediaRule)) return [rule.cssText];
    return matchMedia(rule.media.mediaText).matches ? rulesOf(rule.cssRules) : [];
  });
}
