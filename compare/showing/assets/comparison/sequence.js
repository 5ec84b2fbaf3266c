// A few steps around the one that is told of, as arrows between those who take part in them.

const BEFORE = 4;
const AFTER = 4;
const STEP_TALL = 34;
const HEAD = 34;
const BOLD = "650 12px";
const [EVENT, MESSAGE, TIME_UP, OPENS, CLOSES] = [0, 1, 2, 3, 4];

function sequence(player, current, width, choose) {
  const first = clamp(current - BEFORE, 0, Math.max(0, player.steps.length - BEFORE - AFTER - 1));
  const steps = player.steps.slice(first, first + BEFORE + AFTER + 1);
  const there = [...new Set(steps.flatMap((step) => [step[3], step[4]]).filter((node) => node >= 0))].sort((a, b) => a - b);
  const room = width / Math.max(there.length, 1);
  const x = new Map(there.map((node, number) => [node, room * (number + 0.5)]));
  const height = HEAD + steps.length * STEP_TALL + 6;
  const picture = svg("svg", { class: "sequence", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "the steps around this one, as arrows between nodes" });
  there.forEach((node) => {
    picture.append(svg("path", { class: "lane", d: `M${short(x.get(node))} ${HEAD - 8}V${height}` }));
    picture.append(svg("text", { class: "lanename", x: short(x.get(node)), y: 16, "text-anchor": "middle" }, svg("title", {}, player.nodes[node]), fitted(player.nodes[node], room - 6, BOLD)));
  });
  steps.forEach((step, number) => picture.append(stepOf(player, step, first + number, current, HEAD + number * STEP_TALL, width, x, choose)));
  return picture;
}

function stepOf(player, step, number, current, top, width, x, choose) {
  const [, , kind, from, to, text] = step;
  const words = player.texts[text];
  const y = top + 22;
  const name = number === current ? "step now" : number > current ? "step later" : "step";
  const group = svg("g", { class: name }, svg("rect", { class: "row", x: 0, y: top, width, height: STEP_TALL - 2, rx: 6 }));
  const write = (at, anchor = "middle") => {
    const room = anchor === "middle" ? 2 * Math.min(at, width - at) : width - at;
    return svg("text", { x: short(at), y: y - 6, "text-anchor": anchor }, fitted(words, room - 8, BOLD));
  };
  if (kind === EVENT) {
    group.append(svg("text", { class: "happens", x: width / 2, y: y - 1, "text-anchor": "middle" }, fitted(`★ ${words}`, width - 10, BOLD)));
  } else if (kind === MESSAGE && from !== to) {
    const [a, b] = [x.get(from), x.get(to)];
    const way = b > a ? 1 : -1;
    group.append(svg("path", { class: "arrow", d: `M${short(a)} ${y}H${short(b - way * 6)}` }), svg("path", { class: "tip", d: `M${short(b)} ${y}l${-way * 9} -4.5v9z` }), write((a + b) / 2));
  } else {
    const node = x.get(to);
    const right = node > width / 2;
    group.append(svg("circle", { class: "dot", cx: short(node), cy: y - 8, r: 4 }));
    const room = (right ? node : width - node) - 16;
    group.append(svg("text", { x: short(node + (right ? -10 : 10)), y: y - 4, "text-anchor": right ? "end" : "start" }, fitted(kind === TIME_UP ? `timer: ${words}` : words, room, BOLD)));
  }
  group.addEventListener("click", () => choose(number));
  return group;
}
