/**
 * Site: hosts the viewer where no server is: models, pictures and their files lie beside the page, or in it.
 */

import { fetchUrl, fetchWithShare, ofBase64 } from "../data/files.js";
import { load } from "./load.js";
import { el, setText, show } from "../parts/dom.js";
import { fileField, photoAmong } from "../parts/drops.js";
import { recall, remember } from "../state/memory.js";
import { lookIn } from "../maths/photolevels.js";
import { PhotoStore } from "../state/photos.js";
import { takesPhotos } from "./drops.js";
import { keepEntry, keptEntry } from "./entry.js";
import { TabPhotos } from "./tabphotos.js";

/**
 * The site that `vitviz site` and `page(engine=True)` write. path, script, photo: of files that `read` takes;
 * `names`: by language; head: of a model that has the other weights of this path, in base64; `model` of an
 * example: the one it is made for, null for any; shown: whether it stands in the row of examples; `links`: whether an
 * address can name model and example.
 * @typedef {{
 *   models: Record<string, {title: string, names: Record<string, string>, channels: number, path: string,
 *     examples: Record<string, string>,
 *     weights: {path: string, script?: string, head?: string}, twin: {draws: string, like: string}|null}>,
 *   examples: Record<string,
 *     {names: Record<string, string>, thumbnail: string, photo: string, file: string, model: string|null,
 *       shown: boolean}>,
 *   start: {model: string, example: string}, language: string|null, languages: Record<string, string>,
 *     running: string, playing: string, digits: Record<string, string>, links: boolean,
 *   texts: Record<string, Record<string, string>>,
 * }} Site
 */

/**
 * The shown analysis: the keys of a model and of an example, or a photo of the visitor's in place of the
 * latter.
 * @typedef {{model: string, example: string, photo?: import("../state/photos.js").OwnPhoto|null}} Shown
 */

const isFile = () => !location.protocol.startsWith("http");

/** Whether a site has weights that only a web server can give, but is opened as a file. @param {Site} site */
const isUnserved = ({ models }) =>
  isFile() && Object.values(models).some(({ weights: { path, script } }) => path && !script);

/** Reads what a file beside the page has. @param {string} path */
const readBeside = (path) => load(new URL(path, document.baseURI).href);

/**
 * @param {{element: HTMLElement, strip: HTMLElement, site: Site, viewer: string|any,
 *   read?: (path: string) => Promise<any>, more?: any}} page
 *   viewer: the file of the viewer, or what it exports; more: for the viewer, of a page that has one analysis
 */
export async function open({ element, strip, site, viewer: given, read = readBeside, more = {} }) {
  const page = document.documentElement;
  let lacksTexts = false;
  const texts = (name) =>
    read(site.languages[name]).catch((error) => {
      lacksTexts = true;
      bar.say("lost");
      throw error;
    });
  const kept = site.links ? new TabPhotos() : null;
  const photos = kept ?? new PhotoStore();
  const own = (file, name = file.name) => photos.create({ file, name });
  const address = addressOf(site);
  const entry = address.view && !address.view() ? keptEntry() : null;
  if (entry) history.replaceState(entry.view, "", entry.place);
  let [shown, isEmpty] = [/** @type {Shown} */ (named()), true];
  const last = { turn: 0, asked: shown }; // the last choice, shown or on its way, and its number
  const links = /** @type {Map<string, Shown>} */ (new Map()); // by the ids of analyses
  const bar = createBar(strip, site, {
    choose: (wanted) => choose(wanted),
    take,
    draw: async () => (await mounted()).openDrawing(),
    film: async () => (await mounted()).openCamera(),
    play: async () => (await mounted()).openPlayground(),
    forget: () => kept?.forget(),
  });
  bar.mark(shown);
  const coming = mount();
  await mounted();
  if (address.view?.()?.photo) await kept?.ready; // the page was reloaded
  if (last.turn === 0) await choose(named(), more.selection);
  if (isUnserved(site)) bar.say("served");
  else if (lacksTexts && !isEmpty) bar.say("lost"); // the first picture has taken the sentence away

  /** The viewer: what is pressed before its file is here waits for it. */
  function mounted() {
    return coming.catch((error) => {
      bar.say("lost");
      throw error;
    });
  }

  async function mount() {
    const viewer = typeof given === "string" ? await read(given) : given;
    page.lang = viewer.firstLanguage(new URL(address.read()).search, site.language ?? undefined);
    if (Object.keys(site.languages).length > 0 && !(await viewer.prepare(page.lang, texts))) page.lang = "en";
    const grey = Object.keys(site.models).filter((key) => site.models[key].channels === 1);
    const digits =
      grey.find((key) => Object.values(site.examples).some(({ model }) => model === key)) ?? grey[0];
    // another link was opened in the same tab
    if (isFile() && site.links) window.addEventListener("hashchange", () => location.reload());
    return viewer.mount({
      element,
      address,
      awaited: true,
      languages: true,
      reopen: () => choose(named(), undefined, true),
      ...(site.links
        ? {
            texts,
            beside,
            twin,
            send: async (file) => own(file),
          }
        : {}),
      photos,
      fetchFile: async (wanted, signal) =>
        wanted.path ? ofBase64(await read(wanted.path)) : fetchUrl(wanted, signal),
      weights: Object.fromEntries(
        Object.entries(site.models).flatMap(([name, { weights, twin: drawn }]) => [
          [name, weights],
          ["untrained " + name, drawn],
        ]),
      ),
      running: async () => (await read(site.running)).running,
      playing: () => read(site.playing),
      digitsOf: async (part) => ofBase64(await read(site.digits[part])),
      fetchWeights,
      look,
      filming: bar.filming,
      adopted: (name) => bar.name(name),
      take,
      draw:
        digits &&
        ((file, name, first) =>
          choose({ ...last.asked, model: first ? digits : last.asked.model, photo: own(file, name) })),
      entitle: (title) => {
        document.title = title + " · vitviz";
      },
      ...(site.links && {
        go: (href) => (isFile() ? location.replace(behindHash(href)) : location.assign(href)),
      }),
      ...more,
    });
  }

  /** Shows a photo to the model that was chosen last, which can be one that has learned in this page. */
  async function take(file, name) {
    const photo = own(file, name);
    const viewer = isEmpty || last.asked !== shown ? null : await mounted();
    if (!viewer?.learned()) return choose({ ...last.asked, photo });
    try {
      const opened = await viewer.give(photo);
      bar.say(opened ? "" : "unopened");
      return opened;
    } catch (error) {
      if (!error.said) throw error;
      bar.say("unopened", error.said);
      return false;
    }
  }

  /**
   * Shows a model and a picture, unless something else is chosen before it has come; whether it is shown.
   * @param {Shown} wanted
   * @param {any} [selection]
   * @param {boolean} [returns]  whether Back or Forward led to it; any other choice ends the wait for that
   *   entry
   */
  async function choose(wanted, selection, returns = false) {
    const mine = ++last.turn;
    if (!has(site, wanted.model, wanted.example))
      wanted = { ...wanted, example: Object.keys(site.models[wanted.model].examples)[0] };
    last.asked = wanted;
    bar.mark(wanted);
    const viewer = await mounted();
    try {
      const manifest = await manifestOf(wanted);
      const { photo } = wanted;
      if (mine !== last.turn) return false;
      if (!returns) viewer.release();
      const opened = photo ? await viewer.analyse(manifest, photo) : true;
      if (!photo) viewer.update(manifest, selection);
      if (mine !== last.turn) return false;
      if (!opened) return await refuse(viewer, photo, "unopened");
      [shown, isEmpty] = [wanted, false];
      return true;
    } catch (error) {
      if (mine !== last.turn) return false;
      const unserved = isUnserved(site);
      const again = error.said || unserved ? null : () => choose(wanted, selection);
      const key = error.modelLost ? (unserved ? "served" : "model_lost") : "lost";
      await refuse(viewer, wanted.photo, key, error.said, again);
      if (!error.said && !error.modelLost) throw error;
      return false;
    }
  }

  /**
   * Refuses a request in a sentence; the shown analysis stays, and the address is its own again. A photo can come
   * before anything is shown.
   * @param {{over: () => void}} viewer @param {Shown["photo"]} photo
   * @param {string} key @param {Record<string, string>} [sentences] @param {(() => void)|null} [again]
   */
  async function refuse(viewer, photo, key, sentences, again) {
    viewer.over();
    if (photo && isEmpty && !(await choose(shown))) return false;
    last.asked = shown;
    bar.mark(shown);
    bar.say(key, sentences, again);
    return false;
  }

  /** @param {Shown} wanted */
  async function manifestOf({ model, example }) {
    const { path, examples } = site.models[model];
    const [subject, analyzed] = await Promise.all([read(path), read(examples[example])]);
    const manifest = { ...analyzed, model: subject };
    links.set(manifest.pass?.id, { model, example });
    return site.links
      ? {
          ...manifest,
          link: { model, example },
          itself: pictureOf(site, example),
          beside: besides(site, { model, example }),
        }
      : manifest;
  }

  /** @param {string} key @param {string} id  of the analysis beside which it stands; another can be shown by now */
  function beside(key, id) {
    const [, kind, name] = /** @type {RegExpExecArray} */ (/^(example|model)-(.*)$/.exec(key));
    return manifestOf({ ...(links.get(id) ?? shown), [kind]: name });
  }

  /** The file of a picture. @param {Shown} wanted @returns {Promise<any>} */
  async function photoOf({ photo, example }) {
    const { photo: path, file: name } = site.examples[example];
    return photo ?? { file: new Blob([ofBase64(await read(path))]), name };
  }

  async function twin() {
    const { model } = shown;
    const [like, photo] = await Promise.all([
      read(/** @type {any} */ (site.models[model].twin).like),
      photoOf(shown),
    ]);
    return { like, photo };
  }

  /** Shows the picture with its levels read in another way. @param {import("../maths/photolevels.js").Look} wanted */
  async function look(wanted) {
    const photo = await photoOf(shown);
    await choose({ ...shown, photo: photos.create({ ...photo, ...wanted }) });
  }

  /**
   * The model and the example in the address; the start of the page for those that are missing.
   * @returns {Shown}
   */
  function named() {
    const { photo: id = "", link = {} } = address.view?.() ?? {};
    const photo = photos.find(id);
    return namedIn(site, new URL(address.read()).searchParams, photo && { ...photo, ...lookIn(link) });
  }

  /** @param {any} weights  as a model of the site has them, or what a twin is drawn from */
  async function fetchWeights({ head, ...place }, onShare) {
    const weights = await fetchPlaced(place, onShare);
    return head ? { weights, head: ofBase64(head) } : weights;
  }

  /** @param {any} place */
  async function fetchPlaced({ path, script, draws }, onShare) {
    if (draws) return read(draws);
    if (isUnserved(site)) throw new Error("the weights are for a web server alone");
    if (isFile() || !path) return ofBase64(await read(script)); // a page of files can fetch none
    const told = (share) => {
      bar.come(share);
      onShare(share);
    };
    told(0);
    try {
      return await fetchWithShare(new URL(path, document.baseURI).href, told);
    } finally {
      bar.come(1);
    }
  }
}

/**
 * The model and the example in a link to a site; the start of the site for those that are missing.
 * @param {Pick<Site, "models"|"examples"|"start">} site
 * @param {URLSearchParams} asked
 * @param {import("../state/photos.js").OwnPhoto|null} [photo]  in place of an example
 * @returns {Shown}
 */
export function namedIn(site, asked, photo) {
  const { models, examples, start } = site;
  const [model, example] = [asked.get("model") ?? "", asked.get("example") ?? ""];
  const [hasModel, hasExample] = [Object.hasOwn(models, model), Object.hasOwn(examples, example)];
  if (!hasModel) return hasExample ? fitting(site, example, start.model) : start;
  if (photo) return { ...start, model, photo };
  if (hasExample) return { model, example };
  return fitting(
    site,
    Object.keys(examples).find((key) => examples[key].model === model) ?? start.example,
    model,
  );
}

/** Whether the site has this picture in this model. @param {Pick<Site, "models">} site */
const has = ({ models }, model, example) => Object.hasOwn(models[model].examples, example);

/** @param {Site} site @param {string} key */
function pictureOf({ examples }, key) {
  const { names } = examples[key];
  return { key: "example-" + key, kind: "example", name: names.en, names };
}

/** The analyses that can stand beside: each differs in one thing. @param {Site} site @param {Shown} now */
function besides(site, { model, example }) {
  const models = Object.entries(site.models)
    .filter(([key]) => key !== model && has(site, key, example))
    .map(([key, { title, names }]) => ({ key: "model-" + key, kind: "model", name: title, names }));
  const untrained = site.models[model].twin ? [{ key: "untrained", kind: "untrained" }] : [];
  return [
    ...untrained,
    ...Object.keys(site.examples)
      .filter((key) => key !== example && has(site, model, key))
      .map((key) => pictureOf(site, key)),
    ...models,
  ];
}

/**
 * An example in the model that it is made for; one for any is not shown to a model that has examples of its
 * own.
 * @param {Pick<Site, "models"|"examples"|"start">} site @returns {Shown}
 */
function fitting(site, example, model) {
  const special = Object.values(site.examples).some((one) => one.model === model);
  const own = special || !has(site, model, example);
  return { example, model: site.examples[example].model ?? (own ? site.start.model : model) };
}

/** Query and hash of an address as they stand behind the # of a page of files. @param {string} href */
function behindHash(href) {
  const { search, hash } = new URL(href);
  return (
    "#" +
    [search, hash]
      .map((part) => part.slice(1))
      .filter(Boolean)
      .join("&")
  );
}

/**
 * The address of a page of files, whose query is behind the #, and the lesson of one's own with it. A link that was
 * copied has a query and a hash.
 */
function fileAddress() {
  const hash = location.hash.slice(1);
  const own = /(^|&)(own=.*)$/s.exec(hash);
  const query = own ? hash.slice(0, own.index) : hash;
  const place = location.protocol === "about:" ? "page:" : location.href.split(/[?#]/)[0];
  return place + "?" + (query || location.search.slice(1)) + (own ? "#" + own[2] : "");
}

/**
 * The address of the page. Pages of files have one behind the #: it survives a reload, and links can hold it.
 * @returns {import("../types.js").Address}
 */
function addressOf({ links }) {
  if (isFile() || !links) {
    return {
      read: fileAddress,
      ...(links && { view: () => history.state }),
      write: (href, view) => history.replaceState(links ? view : null, "", behindHash(href)),
    };
  }
  return {
    read: () => location.href,
    view: () => history.state,
    write(href, view, step) {
      keepEntry(href, view);
      if (step) history.pushState(view, "", href);
      else history.replaceState(view, "", href);
    },
    follow: (moved) => window.addEventListener("popstate", moved),
  };
}

/**
 * The controls above the viewer, in the language of the page.
 * @param {HTMLElement} strip
 * @param {Site} site
 * @param {{choose: (wanted: Shown) => void, take: (file: File) => Promise<boolean>, draw: () => void,
 *   film: () => void, play: () => void, forget: () => void}} on
 */
function createBar(strip, site, { choose, take, draw, film, play, forget }) {
  const page = document.documentElement;
  const textOf = (key, values = {}) =>
    Object.entries(values).reduce(
      (text, [name, value]) => text.replace("{" + name + "}", () => String(value)),
      (site.texts[page.lang] ?? site.texts.en)[key],
    );
  let now = /** @type {Shown} */ (site.start);
  let said = { key: "", values: {}, sentences: /** @type {Record<string, string>|undefined} */ (undefined) };
  const sentence = el("span");
  const again = el("button", { type: "button", class: "vv-bar-button", hidden: true });
  const note = el("p", { class: "vv-bar-note", role: "status", hidden: true }, sentence, " ", again);
  const input = fileField("image/*", ([file]) => take(file));
  const photo = el("button", {
    type: "button",
    class: "vv-bar-button vv-bar-main",
    onclick: () => input.click(),
  });
  const camera = el("button", { type: "button", class: "vv-bar-button", onclick: film });
  const pen = Object.values(site.models).some(({ channels }) => channels === 1)
    ? el("button", { type: "button", class: "vv-bar-button", onclick: draw })
    : null;
  const playing = el("button", { type: "button", class: "vv-bar-button", onclick: play });
  const forgetting = el("button", {
    type: "button",
    class: "vv-bar-button vv-bar-forget",
    onclick: forget,
  });
  const row = Object.entries(site.examples).filter(([, { shown }]) => shown);
  const thumbnails = row.map(([key, { thumbnail }]) =>
    el(
      "button",
      {
        type: "button",
        class: thumbnail ? "vv-bar-example" : "vv-bar-button",
        onclick: () => choose(fitting(site, key, now.model)),
      },
      thumbnail ? el("img", { src: thumbnail, alt: "", width: 44, height: 44 }) : null,
    ),
  );
  const adopted = el("option", { value: "", hidden: true });
  const options = Object.keys(site.models).map((key) => el("option", { value: key }));
  const menu = el(
    "select",
    {
      class: "vv-bar-model",
      hidden: options.length < 2,
      onchange: () => choose({ ...now, model: menu.value }),
    },
    ...options,
  );
  const theme = el("button", {
    type: "button",
    class: "vv-bar-button vv-bar-theme",
    text: "◐",
    onclick: () => {
      const dark = page.classList.toggle("dark");
      remember(() => localStorage, { theme: dark ? "dark" : "light" });
      dress();
    },
  });
  const gallery = el("div", { class: "vv-bar-examples", role: "group" }, ...thumbnails);
  const title = el("p");
  strip.classList.add("vitviz", "vv-bar");
  strip.replaceChildren(
    ...(site.links ? [el("div", { class: "vv-bar-title" }, el("h1", { text: "vitviz" }), title)] : []),
    photo,
    input,
    camera,
    pen ?? "",
    forgetting,
    gallery,
    playing,
    menu,
    theme,
    note,
  );
  const taste = recall(() => localStorage);
  page.classList.toggle(
    "dark",
    taste.theme ? taste.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches,
  );
  new MutationObserver(speak).observe(page, { attributeFilter: ["lang"] });
  takesPhotos(
    async (files) => {
      const file = photoAmong(files);
      if ((await take(file)) && files.length > 1) tell("only", { name: file.name, count: files.length });
    },
    () => tell("nothing_pasted"),
  );
  dress();
  speak();
  return {
    /** @param {Shown} shown */
    mark(shown) {
      now = shown;
      tell("");
      menu.value = shown.model;
      row.forEach(([key], at) =>
        thumbnails[at].setAttribute("aria-pressed", String(key === shown.example && !shown.photo)),
      );
    },
    filming: (on) => camera.setAttribute("aria-expanded", String(on)),
    /**
     * Names a model that has learned in this page, in place of an example and a model of the site.
     * @param {string} name  "" when one of the site is shown again
     */
    name(name) {
      setText(adopted, name);
      if (name) {
        thumbnails.forEach((one) => one.setAttribute("aria-pressed", "false"));
        menu.append(adopted);
        adopted.selected = true;
      } else if (adopted.selected) this.mark(now);
      if (!name) adopted.remove();
    },
    /**
     * @param {string} key @param {Record<string, string>} [sentences]  in its place, by language
     * @param {(() => void)|null} [retry]  what a button behind it does
     */
    say(key, sentences, retry = null) {
      tell(key, {}, sentences);
      show(again, retry !== null);
      again.onclick = retry;
    },
    /**
     * Weights are coming; 1: they are here. Any other sentence stays until something is chosen.
     * @param {number} share
     */
    come(share) {
      if (["", "coming"].includes(said.key))
        tell(share < 1 ? "coming" : "", { share: Math.floor(100 * share) + "%" });
    },
  };

  function tell(key, values = {}, sentences = undefined) {
    said = { key, values, sentences };
    setText(sentence, sentences?.[page.lang] ?? (key && textOf(key, values)));
    show(note, key !== "");
    show(again, false);
  }

  function dress() {
    strip.dataset.theme = page.classList.contains("dark") ? "dark" : "light";
  }

  function speak() {
    setText(title, textOf("title"));
    setText(photo, textOf("photo"));
    setText(camera, textOf("film"));
    if (pen) setText(pen, textOf("draw"));
    setText(playing, textOf("play"));
    setText(forgetting, textOf("forget"));
    setText(again, textOf("again"));
    const offered = !again.hidden;
    tell(said.key, said.values, said.sentences);
    show(again, offered);
    for (const [node, key] of /** @type {[HTMLElement, string][]} */ ([
      [gallery, "examples"],
      [menu, "model"],
      [theme, "theme"],
    ]))
      node.setAttribute("aria-label", textOf(key));
    [theme.title, photo.title, camera.title] = [textOf("theme"), textOf("stays"), textOf("film_title")];
    forgetting.title = textOf("kept");
    row.forEach(([, { names, thumbnail }], at) => {
      thumbnails[at].title = names[page.lang] ?? names.en;
      if (!thumbnail) setText(thumbnails[at], thumbnails[at].title);
    });
    Object.values(site.models).forEach(({ title: english, names }, at) =>
      setText(options[at], names[page.lang] ?? english),
    );
  }
}
