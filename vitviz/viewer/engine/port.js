/** Port: sends messages to a worker, or to the page itself where there may be no worker. */

/**
 * A channel to a server of messages, which replies to every one that is posted.
 * @typedef {{post: (question: any) => void, close: () => void}} Port
 */

/**
 * Makers of the two kinds of ports.
 * @typedef {{worker: typeof workerPort, page: (hear: (reply: any) => void) => Port}} Ports
 */

/**
 * Open the port of a worker, or of the page itself where a policy forbids workers. The policy makes
 * `new Worker` throw, or the worker fail before its first reply.
 * @param {string} text  source of the worker, "" for none
 * @param {Ports} ports
 * @param {{hear: (reply: any) => void, died: () => boolean, again: () => void, moved?: () => void}} on
 *   died: called when a running worker has failed; returns whether to start another; again: called when
 *   a new worker or the page has taken over, before it has received any message; moved: called when the page
 *   serves from now on
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
 * A port to the page itself, which serves when its current task is done.
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
 * A worker from source text, as a blob: the only kind that all browsers allow pages opened from files.
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
