// One join, through both systems at the same time: what is later than the played moment is veiled.

const BEFORE_END = 1;
const SCRIPTED = [0, 1];
const TOLD = 3;

function lane(view, variants, place) {
  const shown = el("div", { class: "lanepicture" });
  const veil = el("div", { class: "veil" });
  const said = el("p", { class: "said", "aria-live": "off" });
  const choice = el("select", { "aria-label": "variant" }, ...variants.map((each, number) => el("option", { value: number }, payload.names[each.label])));
  const title = variants.length > 1 ? el("label", {}, choice) : el("span", {}, payload.names[variants[0].label]);
  const loads = el("span", { class: "loads" });
  let variant = variants[0];
  let drawn = null;
  const draw = () => {
    drawn = ownership(view, variant, Math.max(280, Math.floor(shown.clientWidth)));
    shown.replaceChildren(drawn.picture, veil);
    point();
  };
  const point = () => {
    if (!drawn) return;
    const now = view.cursor ?? view.from;
    const scale = shown.clientWidth / drawn.picture.viewBox.baseVal.width;
    veil.style.left = `${drawn.x(now) * scale}px`;
    veil.style.right = `${shown.clientWidth - (drawn.left + drawn.plot) * scale}px`;
    veil.style.top = `${drawn.top * scale}px`;
    veil.style.height = `${(drawn.bottom - drawn.top) * scale}px`;
    loads.textContent = ownedAt(variant, drawn.rows, now).map((owned, member) => `${variant.members[member]} ${owned.length}`).join(" · ");
    said.replaceChildren(...latest(variant.player, now).map((step) => el("span", {}, `${clock(step[0], 1)} ${words(variant.player, step)}`)));
  };
  choice.addEventListener("change", () => {
    variant = variants[Number(choice.value)];
    draw();
  });
  view.on("view", draw);
  view.on("cursor", point);
  place.append(el("section", { class: "lane" }, el("h2", {}, title, loads), shown, said));
  let before = 0;
  new ResizeObserver(() => {
    if (shown.clientWidth && shown.clientWidth !== before) draw();
    before = shown.clientWidth;
  }).observe(shown);
}

// The last steps up to a moment that the shown time has: events of the scenario and messages.
function latest(player, now) {
  const steps = player.steps.filter((step) => step[0] >= payload.from && step[0] <= now && SCRIPTED.includes(step[2]));
  return steps.slice(-TOLD);
}

function words(player, [, , kind, from, to, text]) {
  const name = player.texts[text];
  return kind === 1 ? `${player.nodes[from]} → ${player.nodes[to]}: ${name}` : name;
}

function controls(root, view) {
  const play = root.querySelector(".play");
  const moment = root.querySelector(".moment");
  const pace = root.querySelector(".pace select");
  let frame = null;
  let last = 0;
  moment.max = payload.to - payload.from;
  const show = (now) => {
    view.point(now);
    moment.value = now - payload.from;
    root.querySelector(".clock").textContent = clock(now, 100);
  };
  const stop = () => {
    if (frame !== null) cancelAnimationFrame(frame);
    frame = null;
    play.textContent = "▶";
    play.setAttribute("aria-label", "play");
  };
  const tick = (time) => {
    const now = (view.cursor ?? payload.from) + Math.min(time - last, 100) * Number(pace.value);
    last = time;
    show(Math.min(now, payload.to - BEFORE_END));
    if (now >= payload.to - BEFORE_END) return stop();
    frame = requestAnimationFrame(tick);
    return undefined;
  };
  const start = () => {
    if ((view.cursor ?? payload.from) >= payload.to - 2 * BEFORE_END) show(payload.from);
    play.textContent = "❚❚";
    play.setAttribute("aria-label", "pause");
    last = performance.now();
    frame = requestAnimationFrame(tick);
  };
  play.addEventListener("click", () => (frame === null ? start() : stop()));
  moment.addEventListener("input", () => {
    stop();
    show(payload.from + Number(moment.value));
  });
  // The whole picture is there for those who do not play it.
  show(payload.to - BEFORE_END);
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) {
    show(payload.from);
    start();
  }
}

const root = document.getElementById("join");
const view = shared(payload);
view.show(payload.from, payload.to);
const lanes = root.querySelector(".lanes");
const of = (system) => payload.variants.filter((each) => each.player.system === system);
lane(view, of("kafka"), lanes);
lane(view, of("rocketmq"), lanes);
const mark = (name, text) => el("li", {}, svg("svg", { width: 16, height: 12, "aria-hidden": true }, svg("path", { class: name, d: "M2 1h12v10h-12z" })), text);
root.querySelector(".joinkey").append(
  ...payload.variants[0].members.map((name, member) => el("li", {}, swatch(member), name)),
  mark("nobody", "no owner"),
  mark("twoowners", "two owners"),
);
controls(root, view);
