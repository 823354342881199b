/** Gradio: hosts the viewer in the page of the app. web/page/component.js starts it. */

import { keepEntry } from "./entry.js";

/**
 * What Gradio gives to a component, and the addresses of our files. `files`: paths of scripts and digits,
 * `texts` by name; `load`: load.js; `trigger`: an event for Python; `watch`: hears of new values.
 * @typedef {{element: HTMLElement, props: any, server: Record<string, (question: any) => Promise<any>>,
 *   trigger: (event: string, data?: any) => void, upload: (file: File) => Promise<{path: string}>,
 *   watch: (name: string, changed: () => void) => void, load: (address: string) => Promise<any>,
 *   files: {running: string, playing: string, train: string, test: string, texts: Record<string, string>}}}
 *   Component
 * @typedef {import("../state/photos.js").OwnPhoto} OwnPhoto
 */

/** A page that could not be opened asks again, each time after that much longer. */
const [MOST_OPENINGS, OPENING_MS] = [6, 5000];

/** @param {string} path */
const addressOf = (path) => new URL(path, document.baseURI).href;

/** @param {string} path  of a file in Gradio's cache */
const urlOf = (path) => addressOf("gradio_api/file=") + path.split("/").map(encodeURIComponent).join("/");

/** Shows a message, given by language, under the strip; null: none. @param {any} detail */
const announce = (detail) => document.dispatchEvent(new CustomEvent("vitviz-said", { detail }));

/**
 * A reply's manifest with the addresses of its files and of the weights; a refusal or undefined stays.
 * @param {any} reply
 * @param {any} props
 */
function placed(reply, props) {
  if (!reply?.manifest) return reply;
  const { manifest } = reply;
  const { model } = manifest;
  const files = Object.entries(manifest.files).map(([name, file]) => [
    name,
    file.late ? file : { ...file, url: urlOf(file.path) },
  ]);
  const weights = weightsOf(model, props);
  return { ...manifest, ...(weights && { model: { ...model, weights } }), files: Object.fromEntries(files) };
}

/** The address of the weights of a model that this page can run; undefined for others, and for untrained ones. */
function weightsOf({ key: { name, untrained, image_size: size }, in_page: lentAs }, { weights = {}, lent }) {
  if (untrained) return undefined;
  if (!size && Object.hasOwn(weights, name)) return addressOf(weights[name]);
  if (!lentAs || !lent) return undefined;
  const wanted = new URLSearchParams({ model: lentAs, ...(size && { size: size.join("x") }) });
  return addressOf(lent + "?" + wanted);
}

/** @param {Response} answer */
function checked(answer) {
  if (!answer.ok) throw new Error("status " + answer.status);
  return answer;
}

/**
 * The address of the page. The view is stored with it in the browser's history, together with the id of the
 * photo, which no address can name. The rest of `history.state` belongs to Gradio.
 * @returns {import("../types.js").Address & {stop: () => void}}
 */
function createAddress() {
  let followed = /** @type {(() => void)|null} */ (null);
  return {
    read: () => location.href,
    view: () => history.state?.vitviz ?? null,
    write(href, view, step) {
      keepEntry(href, view);
      const state = view ? { ...history.state, vitviz: view } : history.state;
      if (step) history.pushState(state, "", href);
      else if (href !== location.href || JSON.stringify(state) !== JSON.stringify(history.state))
        history.replaceState(state, "", href);
    },
    follow(moved) {
      followed = moved;
      window.addEventListener("popstate", moved);
    },
    stop: () => followed && window.removeEventListener("popstate", followed),
  };
}

/** Calls to Python, and files that it has. @param {Component} component */
function createBackend({ props, server, load, files }) {
  const ask = (name, question) => server[name](question);
  return {
    ask,
    beside: async (key, id) => placed(await ask("beside", { id, beside: key }), props),
    operate: (interventions, id, first) => ask("operate", { id, interventions, ...first }),
    running: async () => (await load(addressOf(files.running))).running,
    playing: () => load(addressOf(files.playing)),
    digitsOf: async (part) => checked(await fetch(addressOf(files[part]))).arrayBuffer(),
    weights: Object.fromEntries(
      Object.entries(props.weights ?? {}).map(([name, path]) => [name, addressOf(path)]),
    ),
    /** The HTML of the page to take home. */
    async takeHome(wanted) {
      const reply = await ask("take_home", wanted);
      if (!reply?.path) return reply; // a refusal or undefined
      return { html: await checked(await fetch(urlOf(reply.path))).text() };
    },
  };
}

/**
 * Mounts the viewer in the component, and shows there what Gradio sends.
 * @param {Pick<typeof import("../main.js"), "mount"|"learnedHere">} viewer
 * @param {Component} component
 * @param {ReturnType<typeof import("./gradiohead.js").createHead>} page
 * @param {(name: string) => Promise<any>} texts
 */
export function open(viewer, component, page, texts) {
  const { element, props, trigger, upload, watch } = component;
  const { photos } = page;
  const [address, backend] = [createAddress(), createBackend(component)];
  const room = window.vitvizRoom;
  let wanted = {}; // the request for which the photo is sent
  let onBoard = /** @type {OwnPhoto|null} */ (null); // the photo that is drawn, if the server does not have it
  /** @type {any} the latest manifest of the server; that of an example if the photo has not left this page */
  let template = null;
  const first = createGate();
  const scroll = createScroll(element);
  // The manifest in the document of a page without parameters (first.py). It is shown until Gradio's queue has
  // answered.
  let brought = window.vitvizFirst;
  delete window.vitvizFirst;
  const mounted = viewer.mount({
    element: /** @type {HTMLElement} */ (element.querySelector(".vv-place")),
    ...backend,
    address,
    photos,
    awaited: true,
    languages: true,
    texts,
    room: room && { ...room, ask: (question) => backend.ask("room", question) },
    send: async (file) => ({ address: (await upload(file)).path, name: file.name, file }),
    draw,
    take: keep,
    wide: props.wide && { ...props.wide, open: () => trigger("model", props.wide.name) },
    again: () => trigger("again"),
    reopen: () => trigger("reopen"),
    go: (href) => location.assign(href), // a lesson continues with another model or picture
    adopted(name) {
      nameInMenu(name);
      here(name !== "" || onBoard !== null);
    },
    filming: (on) => document.getElementById("vv-camera")?.setAttribute("aria-expanded", String(on)),
    entitle: (title) => {
      document.title = title + " · vitviz";
    },
    async share(photo) {
      const [request, mine] = [wanted, photos.taken];
      const sent = await photos.share(photo);
      if (sent && mine === photos.taken) trigger("photo", { ...sent, ...request });
      else if (sent) mounted.over(); // a newer photo was taken, which stays
      return sent;
    },
    refused(photo) {
      wanted = {};
      photos.keep(photo);
      if (!runs(template.model)) trigger("reopen"); // resets the menu to the model that is shown
    },
    async look(look) {
      const photo = onBoard;
      if (!photo) trigger("look", look);
      else if (!(await take({ ...photo, ...look }))) {
        photos.shown = photo; // its model is one of the server's
        wanted = { ...wanted, ...look };
        mounted.askConsent(photo);
      }
    },
    resize(size) {
      // a photo that has not left this page is analyzed here in the new size, too
      if (!onBoard || runs(template.model)) trigger("resize", size);
      else {
        wanted = { ...wanted, size };
        mounted.askConsent(onBoard);
      }
    },
  });
  page.taker = {
    takes: () => mounted.learned() || runs(template?.model),
    take: (file) => take(photos.create({ file, name: file.name })),
  };
  watch("value", show); // is not called for a value that is already set
  show();
  const opening = { tries: 0, timer: 0 };
  return {
    ...mounted,
    /** A request is over. One that opens the page can be refused or lost: it is made again. */
    over() {
      mounted.over();
      if (template || props.value || opening.timer || opening.tries >= MOST_OPENINGS) return;
      opening.tries += 1;
      opening.timer = setTimeout(() => {
        opening.timer = 0;
        if (!template && !props.value) trigger("reopen");
      }, OPENING_MS * opening.tries);
    },
    destroy() {
      clearTimeout(opening.timer);
      page.taker = null;
      address.stop();
      mounted.destroy();
    },
  };

  /**
   * Whether the page analyzes photos with a model itself. Before the first manifest nobody knows: a photo waits.
   * @param {import("../types.js").Model} [model]
   */
  function runs(model) {
    if (!model) return Boolean(props.photos && (!props.value || props.value.text));
    return Boolean(props.photos && model.weights && !model.key.untrained);
  }

  /** Shows a photo that stays in this page; false if the server has to analyze it. @param {OwnPhoto} photo */
  async function analyse(photo) {
    const done = await mounted.analyse(template, photo);
    // something else may be shown by now
    if (done && photos.shown === photo) {
      onBoard = photo;
      wanted = {};
      announce(null);
      here(true);
      scroll(true);
    }
    return done;
  }

  /** Takes a visitor's photo; false if it has to be sent to the server. @param {OwnPhoto} photo */
  async function take(photo) {
    photos.taken += 1;
    await first.opened;
    try {
      if (mounted.learned()) {
        // A file that only the server could open stays here, too: no server has this model.
        if (!(await mounted.give(photo))) announce(viewer.learnedHere());
        return true;
      }
    } catch (error) {
      if (!error.said) throw error;
      announce(error.said);
      return true;
    }
    if (template && runs(template.model)) {
      photos.shown = photo;
      mounted.release(); // what Back led to is not waited for any more
      try {
        if (await analyse(photo)) return true;
      } catch (error) {
        if (photos.shown !== photo) return true; // something else was taken meanwhile
        photos.shown = onBoard;
        if (error.hostOpens) {
          mounted.askToOpen(photo);
          scroll(true);
        } else if (error.said) announce(error.said);
        else throw error;
        return true;
      }
    }
    photos.leave();
    return false;
  }

  /**
   * Takes a frame of the live camera, which says that nothing is sent, or one of Many pictures: for a model that
   * only the server has, the visitor is asked.
   * @param {Blob} picture
   */
  async function keep(picture, name) {
    const before = photos.shown;
    const photo = photos.create({ file: new File([picture], name, { type: picture.type }), name });
    if (await take(photo)) return;
    photos.shown = before; // it stays on the board
    mounted.askToOpen(photo);
  }

  /** Takes a drawing, like any photo. The first drawing of a page goes to the model of digits. */
  async function draw(picture, name, isFirst) {
    photos.taken += 1;
    const file = new File([picture], name, { type: picture.type });
    const photo = photos.create({ file, name });
    await first.opened;
    const other = isFirst && template?.model.key.name !== props.digits;
    if (other && props.photos && props.digits_here) {
      photos.shown = photo;
      trigger("photo", { first: true });
    } else if (other || !(await take(photo))) {
      photos.leave();
      const { path } = await upload(file);
      trigger("photo", { path, name, first: isFirst });
    }
  }

  /** Whether a manifest is the one that the document brought, which is shown. */
  function stands(manifest) {
    const butId = (other) => JSON.stringify({ ...other, pass: { ...other.pass, id: "" } });
    return (
      brought &&
      template &&
      !photos.shown &&
      butId(manifest) === butId(brought) &&
      !element.querySelector("[data-state=error]") // in a restored tab the files can be gone
    );
  }

  async function show() {
    const { value } = props;
    if (!value && !brought) return;
    if (value && !value.text) {
      // the page has nothing to show
      first.open();
      mounted.update(null);
      return;
    }
    const manifest = value ? JSON.parse(value.text) : brought;
    const shown = value && stands(manifest);
    if (value) brought = null;
    if (shown) return;
    template = placed({ manifest }, props);
    first.open();
    wanted = {};
    if (photos.shown) await showOwn(photos.shown);
    else {
      if (manifest.upload) photos.remember(manifest.upload, urlOf(manifest.upload.address));
      onBoard = null;
      mounted.update(template); // a later analysis keeps the view
      here(false);
      scroll(Boolean(manifest.upload));
    }
  }

  /** Shows the photo that has not left this page in the model that came. @param {OwnPhoto} photo */
  async function showOwn(photo) {
    try {
      if (runs(template.model) && (await analyse(photo))) return;
      if (element.querySelector(".vv-board") && !mounted.learned()) mounted.askConsent(photo);
      else {
        // Nothing can be asked: nothing is shown yet, or a model that learned in this page, with another picture.
        photos.leave();
        await show();
      }
    } catch (error) {
      if (!error.said && !error.hostOpens) throw error;
      // The file that came meanwhile is no picture: `take` restores the photo before it, else this is shown.
      if (photos.shown === photo) photos.leave();
      if (error.said) announce(error.said);
      await show();
    }
  }
}

/** A promise that is resolved by `open`. */
function createGate() {
  const gate = { opened: /** @type {Promise<void>|null} */ (null), open: () => {} };
  gate.opened = new Promise((done) => {
    gate.open = done;
  });
  return gate;
}

/**
 * On a phone the viewer is below the controls, and a photo of the visitor's own can arrive after scrolling
 * down: scrolls to the viewer for all analyses but the first.
 * @param {HTMLElement} element
 */
function createScroll(element) {
  let shown = 0;
  return (own) => {
    shown += 1;
    const { top } = element.getBoundingClientRect();
    // not smoothly: a smooth scroll ends when anything else scrolls, as the line of layers may
    if (shown > 1 && (top > 0.6 * innerHeight || (own && top < 0))) element.scrollIntoView();
  };
}

/**
 * Names a model that has learned in this page on the menu, which knows those of the server alone; "": none is shown.
 * @param {string} name
 */
function nameInMenu(name) {
  const menu = document.getElementById("vv-model");
  for (const [node, attribute] of /** @type {const} */ ([
    [menu, "data-vv-adopted"],
    [menu?.querySelector("input"), "aria-description"],
  ])) {
    if (name) node?.setAttribute(attribute, name);
    else node?.removeAttribute(attribute);
  }
}

/** Marks the page if the shown photo has not left it: the download of the server is another analysis then. */
function here(is) {
  document.documentElement.toggleAttribute("data-vv-here", is);
}
