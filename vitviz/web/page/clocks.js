// Gradio 6.31 leaves a clock behind when its loading screen goes: it asks for 60 animation frames a second for as long
// as the page is open, which takes a tenth of a core. Gradio's clocks keep the function below; once page.js has called
// `vitvizSlowClocks` they tick four times a second, and everybody else has the browser's own function again.
(() => {
  const TICK_MS = 250;
  const frame = window.requestAnimationFrame;
  let slow = false;
  window.requestAnimationFrame = (task) => (slow ? setTimeout(() => frame(task), TICK_MS) : frame(task));
  window.vitvizSlowClocks = () => {
    slow = true;
    window.requestAnimationFrame = frame;
  };
})();
