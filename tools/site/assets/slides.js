// Slides in full screen: the arrow keys turn them.

const slides = document.querySelector(".slides");
const all = [...slides.querySelectorAll(".slide")];
let shown = 0;

function turn(to) {
  shown = Math.max(0, Math.min(to, all.length - 1));
  all.forEach((slide, at) => slide.classList.toggle("shown", at === shown));
}

const bar = document.createElement("p");
bar.className = "slidebar";
for (const [text, act] of [["Show", () => slides.requestFullscreen()], ["Print", () => print()]]) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.addEventListener("click", act);
  bar.append(button);
}
slides.before(bar);
addEventListener("keydown", (event) => {
  const to = { ArrowLeft: shown - 1, PageUp: shown - 1, ArrowRight: shown + 1, PageDown: shown + 1, " ": shown + 1, Home: 0, End: all.length - 1 }[event.key];
  if (to === undefined || document.fullscreenElement !== slides) return;
  event.preventDefault();
  turn(to);
});
turn(0);
