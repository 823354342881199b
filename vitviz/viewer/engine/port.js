/** Port: the way to what computes beside the page. */

/**
 * What serves, and replies to what is posted.
 * @typedef {{post: (question: any) => void, close: () => void}} Port
 */

/**
 * How a worker and a page are made to serve.
 * @typedef {{worker: typeof workerPort, page: (hear: (reply: any) => void) => Port}} Ports
 */

/**
 * The port of a worker, or of the page itself where a policy forbids workers: that is known at once, or when
 * a worker never comes to life.
 * @param {string} text  of the worker, "" for none
 * @param {Ports} ports
 * @param {{hear: (reply: any) => void, died: () => boolean, again: () => void, moved?: () => void}} on
 *   died: the worker has, after it had come to life; whether there shall be another one; again: another
 *   serves, and knows nothing of what was posted; moved: that is the page
 * @returns {Port & {where: () => "worker"|"page"}}
 */
export function openPort(text, ports, { hear, died, again, moved = () => {} }) {
  let [where, isAlive, isOpen] = [/** @type {"worker"|"page"} */ (text ? "worker" : "page"), false, true];
  let port = open();
  return {
    where: () => where,
    post: (question) => port.post(question),
    close() {
      isOpen = false;
      port.close();
    },
  };

  function open() {
    isAlive = false;
    try {
      if (where === "worker") return ports.worker(text, heard, failed);
    } catch {
      move();
    }
    return ports.page(hear);
  }

  function heard(reply) {
    isAlive = true;
    hear(reply);
  }

  function failed() {
    if (!isOpen || where === "page") return;
    port.close();
    if (!isAlive) move();
    else if (!died()) return;
    port = open();
    again();
  }

  function move() {
    where = "page";
    moved();
  }
}

/**
 * The page itself: it serves when what it does now is done.
 * @param
 *   {(tell: (event: any) => void, later: (run: () => void, wait?: number) => void) => (question: any) => any}
 *   serving
 * @returns {Ports["page"]}
 */
export const pagePort = (serving) => (hear) => {
  let isOpen = true;
  const tell = (event) => {
    if (isOpen) hear(event);
  };
  const later = (run, wait = 0) =>
    setTimeout(() => {
      if (isOpen) run();
    }, wait);
  const serve = serving(tell, later);
  return {
    post: (question) => later(async () => tell(await serve(question))),
    close() {
      isOpen = false;
    },
  };
};

/**
 * A worker of this text, from a blob: the only kind that pages of files have in all browsers.
 * @returns {Port}
 */
export function workerPort(text, hear, failed) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const worker = new Worker(address);
  worker.onmessage = ({ data }) => hear(data);
  worker.onerror = (event) => {
    event.preventDefault();
    failed();
  };
  worker.onmessageerror = failed;
  return {
    post: (question) => worker.postMessage(question, question.photo ? [question.photo.bitmap] : []),
    close() {
      worker.terminate();
      URL.revokeObjectURL(address);
    },
  };
}
