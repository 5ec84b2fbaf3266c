// How each group stands at the moment shown: its state and its epochs (or its generation), and those of its members.

const MOST_ROWS = 24;

// Tables of the groups that there are. `now`: what `statesAt` found.
function epochTables(graphs, now) {
  return graphs.filter((graph) => graph.members).flatMap((graph) => {
    const over = new Set(graph.over);
    const members = graphs.find((each) => each.machine === graph.members);
    const overForMembers = new Set(members?.over);
    return [...(now.at.get(graph.machine) ?? [])].filter(([, { state }]) => !over.has(state)).map(([group, { state }]) => {
      const there = [...(now.at.get(graph.members) ?? [])]
        .filter(([who, each]) => !overForMembers.has(each.state) && epochsOf(now, graph.members, who)?.group === group)
        .map(([who, each]) => ({ who, state: each.state, told: epochsOf(now, graph.members, who) }))
        .sort((a, b) => a.who.localeCompare(b.who, "en", { numeric: true }));
      return groupTable(now, graph.machine, group, state, there);
    });
  });
}

const keyOf = (machine, who) => JSON.stringify([machine, who]);
const epochsOf = (now, machine, who) => now.epochs.get(keyOf(machine, who));

function groupTable(now, machine, group, state, members) {
  const told = epochsOf(now, machine, group);
  const numbers = el("dl", { class: "numbers" }, numberOf("state", state, now.taken.some((each) => each.machine === machine && each.who === group)));
  (told ? [...told.numbers] : []).forEach(([name, value]) => numbers.append(numberOf(name, value, told.changed.has(name))));
  const figure = el("figure", { class: "graph epochs" }, el("h4", {}, `Group ${group}`), numbers);
  if (!members.length) return figure;
  const names = [...new Set(members.flatMap((each) => [...each.told.numbers.keys()]))];
  const target = told?.numbers.get("assignment epoch");
  // Of many, those that are on their way.
  const behind = ({ state: stands, told: { numbers: held } }) => (stands.toUpperCase() !== "STABLE" || (target !== undefined && !names.every((name) => held.get(name) === target)) ? 0 : 1);
  const shown = members.length > MOST_ROWS ? [...members].sort((a, b) => behind(a) - behind(b)).slice(0, MOST_ROWS) : members;
  const short = shown.map(({ who }) => withoutId(who));
  const rows = shown.map(({ who, state: stands, told: { numbers: held, changed } }, at) => el("tr", {},
    el("th", { scope: "row", title: who }, el("bdi", {}, short.filter((each) => each === short[at]).length > 1 ? who : short[at])),
    el("td", { class: now.taken.some((each) => each.who === who) ? "changed" : null }, stands),
    ...names.map((name) => el("td", { class: changed.has(name) ? "n changed" : "n" }, held.get(name) >= 0 ? String(held.get(name)) : missing(held.get(name)))),
  ));
  const table = el("table", { class: "plain" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "member"), el("th", { scope: "col" }, "state"), ...names.map((name) => el("th", { scope: "col", class: "n" }, name)))),
    el("tbody", {}, ...rows));
  figure.append(el("div", { class: "scroll" }, table));
  if (shown.length < members.length) figure.append(el("p", { class: "quiet" }, `${counted(members.length - shown.length, "more member")}.`));
  return figure;
}

const numberOf = (name, value, changed) => el("div", { class: changed ? "changed" : null }, el("dt", {}, name), el("dd", {}, String(value)));

// A static member that will be back has epoch -2; who has lost its membership, -1.
const missing = (value) => (value === -2 ? "-2 (will be back)" : "none");

// The coordinator tells members by client id, with the member id in brackets.
const withoutId = (who) => (who.endsWith(")") && who.lastIndexOf(" (") > 0 ? who.slice(0, who.lastIndexOf(" (")) : who);
