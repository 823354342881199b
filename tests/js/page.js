/**
 * A page of plain fakes: nodes with children, listeners and a focus. It has no style and no layout. A DOM
 * library would need npm, which is not on every machine where these tests run.
 */

const GLOBALS = [
  "document",
  "window",
  "requestAnimationFrame",
  "matchMedia",
  "ResizeObserver",
  "MutationObserver",
  "ImageData",
];
const FLAGS = ["hidden", "disabled", "checked", "open"];

/** Whether a node fits one selector without spaces: tag, .class, [name] or [name=value], :checked. */
function fits(node, selector) {
  return (selector.match(/[.:]?[\w-]+|\[[^\]]+\]|\*/g) ?? []).every((part) => {
    if (part.startsWith(".")) return node.classList.contains(part.slice(1));
    if (part.startsWith(":")) return Boolean(node[part.slice(1)]);
    if (part.startsWith("[")) {
      const [name, value] = part.slice(1, -1).replaceAll('"', "").split("=");
      const found = FLAGS.includes(name) ? node[name] || null : node.getAttribute(name);
      return found !== null && (value === undefined || found === value);
    }
    return part === "*" || node.tag === part;
  });
}

/** Whether a node fits a selector whose parts stand inside each other. */
function matches(node, selector) {
  return selector.split(",").some((one) => {
    const parts = one.trim().split(/\s+/);
    if (!fits(node, parts.pop())) return false;
    for (let at = node.parentElement; at && parts.length > 0; at = at.parentElement)
      if (fits(at, parts.at(-1))) parts.pop();
    return parts.length === 0;
  });
}

/** A pencil of a canvas, which draws nothing. */
const pencil = () =>
  new Proxy({}, { get: (kept, name) => kept[name] ?? (() => ({ data: new Uint8ClampedArray(4) })) });

class Fake {
  childNodes = [];
  parentElement = null;
  attributes = {};
  dataset = {};
  style = { setProperty() {} };
  hidden = false;
  disabled = false;
  value = "";
  #listeners = {};

  constructor(tag, text = "") {
    Object.assign(this, { tag, text });
    if (tag === "details" || tag === "dialog") this.open = false;
  }

  get children() {
    return this.childNodes.filter(({ tag }) => tag !== "#text");
  }

  get childElementCount() {
    return this.children.length;
  }

  get lastElementChild() {
    return this.children.at(-1) ?? null;
  }

  get nextElementSibling() {
    const all = this.parentElement?.children ?? [];
    return all[all.indexOf(this) + 1] ?? null;
  }

  get previousElementSibling() {
    const all = this.parentElement?.children ?? [];
    return all[all.indexOf(this) - 1] ?? null;
  }

  get isConnected() {
    return globalThis.document?.body.contains(this) ?? false;
  }

  get textContent() {
    return this.text + this.childNodes.map(({ textContent }) => textContent).join("");
  }

  set textContent(text) {
    this.replaceChildren(...(text === "" ? [] : [text]));
  }

  get classList() {
    const read = () => new Set((this.attributes.class ?? "").split(" ").filter(Boolean));
    const write = (names) => (this.attributes.class = [...names].join(" "));
    return {
      contains: (name) => read().has(name),
      add: (...names) => write([...read(), ...names]),
      remove: (...names) => write([...read()].filter((name) => !names.includes(name))),
      toggle: (name, on = !read().has(name)) =>
        write([...read()].filter((one) => one !== name).concat(on ? [name] : [])),
    };
  }

  setAttribute(name, value) {
    this.attributes[name] = String(value);
    if (FLAGS.includes(name)) this[name] = true;
    else if (["value", "title", "id", "tabindex"].includes(name)) this[name] = String(value);
  }

  toggleAttribute(name, on) {
    if (on) this.setAttribute(name, "");
    else {
      delete this.attributes[name];
      if (FLAGS.includes(name)) this[name] = false;
    }
  }

  getAttribute(name) {
    return this.attributes[name] ?? null;
  }

  append(...nodes) {
    for (const node of nodes.flat()) this.insertBefore(node, null);
  }

  prepend(...nodes) {
    for (const node of nodes.toReversed()) this.insertBefore(node, this.childNodes[0] ?? null);
  }

  insertBefore(node, before) {
    const child = node instanceof Fake ? node : new Fake("#text", String(node));
    child.remove();
    const at = before === null ? this.childNodes.length : this.childNodes.indexOf(before);
    this.childNodes.splice(at, 0, child);
    child.parentElement = this;
  }

  remove() {
    const { parentElement: parent } = this;
    if (!parent) return;
    if (this.contains(globalThis.document?.activeElement))
      globalThis.document.activeElement = globalThis.document.body;
    parent.childNodes.splice(parent.childNodes.indexOf(this), 1);
    this.parentElement = null;
  }

  replaceChildren(...nodes) {
    for (const node of [...this.childNodes]) node.remove();
    this.append(...nodes);
  }

  contains(node) {
    for (let at = node; at; at = at.parentElement) if (at === this) return true;
    return false;
  }

  matches(selector) {
    return matches(this, selector);
  }

  closest(selector) {
    for (let at = this; at; at = at.parentElement) if (matches(at, selector)) return at;
    return null;
  }

  querySelectorAll(selector) {
    return this.children.flatMap((child) => [
      ...(matches(child, selector) ? [child] : []),
      ...child.querySelectorAll(selector),
    ]);
  }

  querySelector(selector) {
    return this.querySelectorAll(selector)[0] ?? null;
  }

  addEventListener(type, hear) {
    (this.#listeners[type] ??= new Set()).add(hear);
  }

  removeEventListener(type, hear) {
    this.#listeners[type]?.delete(hear);
  }

  /** Sends an event to the node and to all around it. */
  send(type, fields = {}) {
    const event = {
      type,
      target: this,
      defaultPrevented: false,
      preventDefault() {
        event.defaultPrevented = true;
      },
      stopPropagation() {},
      ...fields,
    };
    for (let at = this; at; at = at.parentElement) for (const hear of at.#listeners[type] ?? []) hear(event);
    return event;
  }

  /** As a browser does it: what is switched off hears nothing, aria-disabled or not focused all the same. */
  click(fields = { detail: 1 }) {
    if (!this.disabled) this.send("click", fields);
  }

  focus() {
    if (this.isConnected && !this.disabled && !this.closest("[hidden]"))
      globalThis.document.activeElement = this;
  }

  getBoundingClientRect() {
    return { left: 0, top: 0, width: 100, height: 100 };
  }

  toBlob(done) {
    done(new Blob([]));
  }

  getContext() {
    return pencil();
  }

  toDataURL() {
    return "data:";
  }

  showModal() {
    this.open = true;
  }

  close() {
    this.open = false;
    this.send("close");
  }

  select() {}

  scrollIntoView() {}

  setPointerCapture() {}
}

/**
 * Opens a page until the test ends.
 * @param {import("node:test").TestContext} context
 * @returns {{body: any, button: (text: string, within?: any) => any}}  button: the one that has this text
 */
export function openPage(context) {
  const kept = Object.fromEntries(GLOBALS.map((name) => [name, globalThis[name]]));
  const body = /** @type {any} */ (new Fake("body"));
  globalThis.document = /** @type {any} */ ({
    body,
    hidden: false,
    activeElement: body,
    documentElement: new Fake("html"),
    createElement: (tag) => new Fake(tag),
    createElementNS: (_space, tag) => new Fake(tag),
    addEventListener() {},
    removeEventListener() {},
    querySelectorAll: (selector) => body.querySelectorAll(selector),
  });
  globalThis.window = /** @type {any} */ ({ addEventListener() {}, removeEventListener() {} });
  globalThis.requestAnimationFrame = (draw) => /** @type {any} */ (setTimeout(draw, 0));
  globalThis.ImageData = /** @type {any} */ (class {});
  globalThis.ResizeObserver = globalThis.MutationObserver = /** @type {any} */ (
    class {
      observe() {}
      disconnect() {}
    }
  );
  context.after(() => {
    for (const [name, value] of Object.entries(kept))
      if (value === undefined) delete globalThis[name];
      else globalThis[name] = value;
  });
  const button = (text, within = body) =>
    within.querySelectorAll("button").find((node) => node.textContent === text);
  return { body, button };
}

/** Waits until everything that was due has been done. */
export const settled = (ms = 5) =>
  new Promise((done) => {
    setTimeout(done, ms);
  });
