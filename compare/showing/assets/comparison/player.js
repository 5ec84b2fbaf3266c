// The player: step by step through one variant, with the state graph lit up, the cause told and what came of it.

const PACE_MS = 900;

function playerOf(view, place, title) {
  const { variants } = view.scenario;
  let variant = variants[0];
  let current = 0;
  let playing = null;
  let drawn = [];
  let machines = [];
  const { end } = view.scenario;

  const button = (text, label, act) => {
    const made = el("button", { type: "button", class: "tile", "aria-label": label, title: label }, text);
    made.addEventListener("click", () => { stop(); act(); });
    return made;
  };
  const choice = el("select", {}, ...variants.map((each, number) => el("option", { value: number }, each.label)));
  const jump = el("select", {});
  const slider = el("input", { type: "range", min: 0, value: 0, "aria-label": "step" });
  const play = el("button", { type: "button", class: "tile play", "aria-label": "play", title: "play" }, "▶");
  const count = el("output", {});
  const stage = el("div", { class: "stage", tabindex: 0, role: "group", "aria-label": "the steps: left and right go back and forward, Home and End to the ends, space plays" });
  const arrows = el("div", { class: "arrows" });
  const graphsPlace = el("div", { class: "graphs" });
  const epochs = el("div", { class: "standing" });
  const tale = el("div", { class: "tale", "aria-live": "polite" });

  const go = (number) => {
    current = clamp(number, 0, variant.player.steps.length - 1);
    show();
  };
  const stop = () => {
    if (playing !== null) clearInterval(playing);
    playing = null;
    play.textContent = "▶";
    play.setAttribute("aria-label", "play");
  };
  const toggle = () => {
    if (playing !== null) return stop();
    if (current >= variant.player.steps.length - 1) go(0);
    play.textContent = "❚❚";
    play.setAttribute("aria-label", "pause");
    playing = setInterval(() => (current >= variant.player.steps.length - 1 ? stop() : go(current + 1)), PACE_MS);
    return undefined;
  };

  const show = () => {
    const { player } = variant;
    const step = player.steps[current];
    slider.value = current;
    jump.value = [...jump.options].filter((each) => Number(each.value) <= current).pop()?.value ?? "";
    slider.setAttribute("aria-valuetext", `step ${current + 1}: ${player.texts[step[5]]}`);
    count.textContent = `${current + 1} of ${player.steps.length} · ${clock(step[0], 1)}`;
    arrows.replaceChildren(sequence(player, current, Math.max(280, arrows.clientWidth), (number) => { stop(); go(number); }));
    const where = statesAt(player, current);
    const tables = epochTables(machines, where);
    epochs.replaceChildren(...tables);
    epochs.hidden = !tables.length;
    drawn.forEach((graph) => graph.show(where.at.get(graph.machine) ?? new Map(), where.taken.filter((each) => each.machine === graph.machine)));
    tale.replaceChildren(...tell(variant, current, end, (number) => { stop(); go(number); }));
  };
  const choose = (number) => {
    stop();
    variant = variants[number];
    choice.value = number;
    const { player } = variant;
    slider.max = player.steps.length - 1;
    machines = payload.graphs[player.system] ?? [];
    const taken = machinesTaken(player);
    drawn = machines.filter((graph) => !taken.size || taken.has(graph.machine)).map(stateGraph);
    graphsPlace.replaceChildren(epochs, ...drawn.map((graph) => graph.figure));
    if (!drawn.length) graphsPlace.append(el("p", { class: "quiet" }, "This system has no state machine for sharing queues."));
    jump.replaceChildren(...player.steps.flatMap((step, at) => (step[2] === EVENT ? [el("option", { value: at }, `${clock(step[0])} ${player.texts[step[5]]}`)] : [])));
    current = 0;
    show();
  };

  choice.addEventListener("change", () => choose(Number(choice.value)));
  jump.addEventListener("change", () => { stop(); go(Number(jump.value)); });
  slider.addEventListener("input", () => { stop(); go(Number(slider.value)); });
  play.addEventListener("click", toggle);
  stage.addEventListener("keydown", (event) => {
    const acts = { ArrowLeft: () => go(current - 1), ArrowRight: () => go(current + 1), Home: () => go(0), End: () => go(Infinity) };
    if (event.target !== stage || (!acts[event.key] && event.key !== " ")) return;
    event.preventDefault();
    if (event.key === " ") toggle();
    else { stop(); acts[event.key](); }
  });
  stage.append(el("div", { class: "acting" }, arrows, graphsPlace), tale);
  place.append(
    el("div", { class: "tools" }, el("label", { class: "grow" }, "Variant", choice), el("label", { class: "grow" }, "Go to", jump)),
    el("div", { class: "tools controls" },
      el("span", { class: "buttons" }, button("|◂", "first step", () => go(0)), button("◂", "one step back", () => go(current - 1)), play, button("▸", "one step forward", () => go(current + 1)), button("▸|", "last step", () => go(Infinity))),
      slider, count),
    stage,
  );
  title.hidden = false;
  place.hidden = false;
  new ResizeObserver(() => show()).observe(arrows);
  choose(0);
  // At the first step from a time on.
  const open = (number, now) => {
    choose(number);
    const found = variant.player.steps.findIndex((step) => step[0] >= now);
    go(found < 0 ? Infinity : found);
    place.scrollIntoView({ block: "start" });
    stage.focus({ preventScroll: true });
  };
  return { open };
}

const EPOCH_FIELDS = 5;
const STATE_FIELDS = 6;

// The machines of which the run took a step.
function machinesTaken(player) {
  const effects = [...Object.values(player.unseen).flat(), ...player.steps.flatMap((step) => step[7])];
  return new Set(effects.filter((effect) => effect.length === STATE_FIELDS).map((effect) => player.texts[effect[1]]));
}

// Machine to who is in which state after a step, who has which epochs, and the edges taken in it.
function statesAt(player, current) {
  const found = new Map();
  const epochs = new Map();
  const taken = [];
  for (let number = 0; number <= current; number += 1) {
    const unseen = player.unseen[number] ?? [];
    for (const effect of [...unseen, ...player.steps[number][7]]) {
      const [node] = effect;
      if (effect.length === 1) found.forEach((where) => where.forEach((each, who) => each.node === node && where.delete(who)));
      if (effect.length === EPOCH_FIELDS) {
        const [group, machine, who, name] = effect.slice(0, 4).map((each) => player.texts[each]);
        const told = epochs.get(keyOf(machine, who)) ?? { group, numbers: new Map(), changed: new Set() };
        epochs.set(keyOf(machine, who), told);
        told.numbers.set(name, effect[4]);
        if (number === current && !unseen.includes(effect)) told.changed.add(name);
      }
      if (effect.length !== STATE_FIELDS) continue;
      const [machine, who, before, event, after] = effect.slice(1).map((each) => player.texts[each]);
      if (!found.has(machine)) found.set(machine, new Map());
      found.get(machine).set(who, { state: after, node });
      if (number === current && !unseen.includes(effect)) taken.push({ machine, who, before, event, after });
    }
  }
  return { at: found, epochs, taken };
}

const TOLD_CAUSES = 8;

function tell(variant, current, end, go) {
  const { player } = variant;
  const step = player.steps[current];
  const [handled, sent, kind, from, to, text, , effects, quiet] = step;
  const words = player.texts[text];
  const name = (node) => player.nodes[node];
  const headline = {
    [EVENT]: words,
    [MESSAGE]: `${name(from)} sends ${words} to ${name(to)}`,
    [TIME_UP]: `${name(to)}: timer ${words} fires`,
    [OPENS]: `${name(to)}: connection with ${name(from)} opens`,
    [CLOSES]: `${name(to)}: connection with ${name(from)} closes`,
  }[kind];
  const parts = [];
  if (quiet >= 0) parts.push(el("p", { class: "quiet" }, `Skipped: ${player.texts[quiet]}.`));
  parts.push(el("h4", {}, `${clock(handled, 1)} ${headline}`));
  if (kind === MESSAGE && handled > sent) parts.push(el("p", { class: "quiet" }, `sent at ${clock(sent, 1)}, ${lasting(handled - sent)} in transit`));
  const facts = effects.filter((effect) => effect.length === 2);
  if (facts.length) parts.push(el("ul", { class: "effects" }, ...facts.map((effect) => el("li", {}, player.texts[effect[1]]))));
  const why = player.rebalances.filter(([began]) => began <= handled).pop();
  if (why && facts.length && kind !== EVENT) {
    parts.push(el("p", { class: "why" }, `Rebalance of ${why[1]}, since ${clock(why[0], 1)}: ${why[2]}. Cause: ${why[4]} (${clock(why[3], 1)}).`));
  }
  const chain = [];
  for (let number = step[6]; number >= 0; number = player.steps[number][6]) chain.push(number);
  if (chain.length) {
    const shown = chain.length > TOLD_CAUSES ? [...chain.slice(0, TOLD_CAUSES - 1), chain[chain.length - 1]] : chain;
    const links = shown.map((number) => {
      const cause = player.steps[number];
      const label = cause[2] === EVENT ? player.texts[cause[5]] : `${name(cause[3])}${cause[2] === MESSAGE ? ` → ${name(cause[4])}` : ""}: ${player.texts[cause[5]]}`;
      const link = el("button", { type: "button", class: "link" }, `${clock(cause[0], 1)} ${label}`);
      link.addEventListener("click", () => go(number));
      return el("li", {}, link);
    });
    if (shown.length < chain.length) links.splice(TOLD_CAUSES - 1, 0, el("li", { class: "quiet" }, `… ${chain.length - shown.length} more steps …`));
    parts.push(el("h5", {}, "Because"), el("ol", { class: "causes" }, ...links));
  }
  const owned = ownedAt(variant, rowsOf(variant, end), Math.min(handled + 0.6, end - 0.5));
  parts.push(el("h5", {}, "Then they own"), el("ul", { class: "legend owned" }, ...owned.flatMap((each, member) => {
    if (!each.length && owned.length > 12) return [];
    const names = each.length <= 4 ? each.map((row) => rowName(variant.rows[row])).join(", ") : counted(each.length, "queue");
    return [el("li", {}, swatch(member), el("bdi", {}, `${variant.members[member]}: ${names || "nothing"}`))];
  })));
  if (player.dropped) parts.push(el("p", { class: "quiet" }, `${player.dropped} steps, the later ones after each event, are left out to keep this page small.`));
  return parts;
}

document.body.classList.add("live");
document.querySelectorAll(".scenario").forEach((section) => {
  const scenario = payload.scenarios[Number(section.dataset.scenario)];
  if (!scenario.variants.length) return;
  const view = shared(scenario);
  windowTools(view, section.querySelector(".window"));
  const place = section.querySelector(".player");
  const title = section.querySelector(".playertitle");
  // It is far below: made when somebody comes near.
  let player = null;
  const made = () => (player ??= playerOf(view, place, title));
  place.hidden = false;
  const near = new IntersectionObserver(([entry]) => {
    if (!entry.isIntersecting) return;
    near.disconnect();
    made();
  }, { rootMargin: "600px" });
  near.observe(place);
  section.querySelectorAll(".variant").forEach((of) => {
    const number = Number(of.dataset.variant);
    card(view, scenario.variants[number], of, () => made().open(number, view.cursor ?? view.from));
  });
});
