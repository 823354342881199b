/** Port: the way to what computes beside the page. */

/** What serves, and replies to what is posted. @typedef {{post: (question: any) => void, close: () => void}} Port */

/** A worker of this text, from a blob: the only kind that pages of files have in all browsers. @returns {Port} */
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
