// State graphs, drawn from the tables that the simulation runs from: who is in which state, and the edge just taken.

const MOST_TOKENS = 3;
const MOST_SAID = 400;

function stateGraph(graph) {
  const picture = svg("svg", { class: "states", width: graph.width, height: graph.height, viewBox: `0 0 ${graph.width} ${graph.height}`, role: "img" });
  const edges = new Map();
  const tokens = new Map();
  const boxes = new Map();
  graph.edges.forEach((edge) => {
    const drawn = svg("g", { class: "edge", "data-edge": `${edge.from}>${edge.to}` }, svg("path", { class: "way", d: edge.path }), svg("path", { class: "tip", d: edge.tip }));
    edges.set(`${edge.from}>${edge.to}`, drawn);
    picture.append(drawn);
  });
  graph.states.forEach((state) => {
    const [width, height] = graph.box;
    const held = svg("text", { class: "token", x: state.x + width / 2, y: state.y + 35, "text-anchor": "middle" });
    const drawn = svg("g", { class: "state", "data-state": state.name },
      svg("rect", { x: state.x, y: state.y, width, height, rx: 8 }),
      svg("text", { x: state.x + width / 2, y: state.y + 18, "text-anchor": "middle" }, state.name), svg("title", {}, state.shown), held);
    boxes.set(state.name, drawn);
    tokens.set(state.name, held);
    picture.append(drawn);
  });
  const caption = el("p", { class: "taken" });
  const figure = el("figure", { class: "graph" }, el("h4", {}, graph.name), picture, caption);
  // `where`: members in each state; `taken`: the edges of this step.
  const show = (where, taken) => {
    const inside = new Map();
    where.forEach(({ state }, who) => inside.set(state, [...(inside.get(state) ?? []), who]));
    inside.delete(graph.outside);
    boxes.forEach((drawn, state) => {
      const here = (inside.get(state) ?? []).map(withoutId);
      drawn.classList.toggle("lit", here.length > 0);
      drawn.classList.toggle("now", taken.some((each) => each.after === state));
      tokens.get(state).textContent = here.length > MOST_TOKENS ? `${here.length} of them` : fitted(here.join(", "), graph.box[0] - 12);
    });
    edges.forEach((drawn) => drawn.classList.remove("lit"));
    taken.forEach((each) => {
      const drawn = edges.get(`${each.before}>${each.after}`);
      if (!drawn) return;
      drawn.classList.add("lit");
      picture.insertBefore(drawn, picture.querySelector(".state"));
    });
    caption.textContent = taken.map((each) => `${each.who}: ${each.before === each.after ? `stays ${each.after}` : `${each.before} → ${each.after}`} (${each.event})`).join("; ").slice(0, MOST_SAID);
    picture.setAttribute("aria-label", `${graph.name}: ${[...where].map(([who, { state }]) => `${who} is ${state}`).join(", ").slice(0, MOST_SAID) || "no member has a state yet"}`);
  };
  return { figure, show, machine: graph.machine };
}
