/** Stream: a camera of this device, which is off whenever nobody sees the page. */

/** More pixels than the models see, and few enough to be made smaller ten times a second. */
const SIZE = { width: { ideal: 640 }, height: { ideal: 480 } };
/** Why there is no picture, by the name of the browser's error. */
const FAILURES = {
  NotAllowedError: "refused",
  SecurityError: "refused",
  NotFoundError: "none",
  NotReadableError: "busy",
};

/**
 * @param {(state: string) => void} report  hears "asking", "on", and why there is no picture: "insecure",
 *   "refused", "none", "busy", "failed", "stopped", "hidden", "lost"
 * @returns {{video: HTMLVideoElement, start: (camera?: string) => Promise<void>, stop: () => void,
 *   isOn: () => boolean, facesPerson: () => boolean, others: () => string[], end: () => void}}
 *   start: starts a camera, by default the one that faces the person; facesPerson: whether the present camera
 *   faces the person, true if that is unknown; others: ids of the other cameras, the next one first
 */
export function createStream(report) {
  const video = document.createElement("video");
  Object.assign(video, { muted: true, playsInline: true, tabIndex: -1, ariaHidden: "true" });
  let turn = 0; // counts starts and stops
  let stream = /** @type {MediaStream|null} */ (null);
  let cameras = /** @type {string[]} */ ([]);
  const stop = () => off("stopped");
  const hide = () => {
    if (document.hidden) off("hidden");
  };
  document.addEventListener("visibilitychange", hide);
  window.addEventListener("pagehide", stop);
  return {
    video,
    start,
    stop,
    isOn: () => stream !== null,
    facesPerson: () => (stream?.getVideoTracks()[0].getSettings().facingMode ?? "user") === "user",
    others() {
      const at = cameras.indexOf(stream?.getVideoTracks()[0].getSettings().deviceId ?? "");
      return stream ? [...cameras.slice(at + 1), ...cameras.slice(0, Math.max(at, 0))] : [];
    },
    end() {
      stop();
      document.removeEventListener("visibilitychange", hide);
      window.removeEventListener("pagehide", stop);
    },
  };

  async function start(camera) {
    off("asking");
    const mine = turn;
    if (!navigator.mediaDevices) {
      // browsers offer a camera only to pages from a secure origin
      off("insecure");
      return;
    }
    try {
      const coming = await navigator.mediaDevices.getUserMedia({
        audio: false,
        video: { ...SIZE, ...(camera ? { deviceId: { exact: camera } } : { facingMode: "user" }) },
      });
      if (mine !== turn) {
        close(coming);
        return;
      }
      stream = coming;
      stream.getVideoTracks()[0].addEventListener("ended", () => {
        if (stream === coming) off("lost");
      });
      video.srcObject = stream;
      await video.play();
      const devices = await navigator.mediaDevices.enumerateDevices();
      cameras = devices.filter(({ kind }) => kind === "videoinput").map(({ deviceId }) => deviceId);
      if (mine === turn) report("on");
    } catch (error) {
      if (mine !== turn) return;
      off(FAILURES[error.name] ?? "failed");
      if (!FAILURES[error.name]) throw error;
    }
  }

  /** @param {string} why */
  function off(why) {
    turn += 1;
    close(stream);
    stream = video.srcObject = null;
    report(why);
  }
}

/**
 * Takes frames of a video, cropped to the shape of a model's pictures, because scaling the rest would take time.
 * @param {{width: number, height: number}} image  the model's pictures
 * @returns {{canvas: HTMLCanvasElement, shoot: (video: HTMLVideoElement) => ImageData|null}}
 *   canvas: has the last frame; shoot: null before the first one
 */
export function createShutter(image) {
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  return {
    canvas,
    shoot(video) {
      const { videoWidth: across, videoHeight: down } = video;
      if (across === 0 || video.readyState < video.HAVE_CURRENT_DATA) return null;
      const scale = Math.min(across / image.width, down / image.height);
      const [width, height] = [Math.floor(scale * image.width), Math.floor(scale * image.height)];
      if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
      pen.drawImage(video, Math.floor((width - across) / 2), Math.floor((height - down) / 2));
      return pen.getImageData(0, 0, width, height);
    },
  };
}

/** @param {MediaStream|null} stream */
function close(stream) {
  stream?.getTracks().forEach((track) => track.stop());
}
