// The list: open a group, search, sort, filter, and remember what is open in the address.

const list = document.getElementById("groups");

if (list) {
  const body = list.tBodies[0];
  const columns = list.tHead.rows[0].cells.length;
  const rows = groups.map((group, at) => ({ group, at, row: document.getElementById(`g${at}`), open: null, hay: null }));
  const search = document.getElementById("search");
  const sort = document.getElementById("sort");
  const direction = document.getElementById("direction");
  const state = { filter: "", words: [], key: "rank", up: true };
  const BEST_FIRST = new Set(["jain", "min", "score"]);

  const haystack = (entry) => {
    const { group } = entry;
    entry.hay ??= [group.name, group.system, group.strategy, group.state, group.mode, ...group.topics, ...group.members.map((member) => member[0]),
      ...group.findings.flatMap(([cause, remedies]) => [cause, ...remedies.map(([text]) => text)])].filter(Boolean).join("\n").toLowerCase();
    return entry.hay;
  };

  function toggle(entry, wanted = entry.open === null) {
    if (wanted === (entry.open !== null)) return;
    const button = entry.row.querySelector("button");
    button.setAttribute("aria-expanded", String(wanted));
    entry.row.classList.toggle("opened", wanted);
    if (!wanted) {
      entry.open.row.remove();
      entry.open = null;
      return;
    }
    const { box, redraw } = detailsOf(entry.group);
    const row = el("tr", { class: "detail", id: `d${entry.at}` }, el("td", { colspan: columns }, box));
    entry.open = { row, redraw };
    entry.row.after(row);
    redraw();
  }

  function value(entry) {
    if (state.key === "rank") return entry.at;
    if (state.key === "name") return entry.group.name;
    if (state.key in entry.group && !Array.isArray(entry.group[state.key])) return entry.group[state.key];
    return figure(entry.group, state.key);
  }

  function compare(one, other) {
    const [left, right] = [value(one), value(other)];
    // What is not known comes last in either direction; equals stay in the order of the ranking.
    if (left === null || right === null) return (left === null) - (right === null) || one.at - other.at;
    const order = left < right ? -1 : left > right ? 1 : 0;
    return (state.up ? order : -order) || one.at - other.at;
  }

  function arrange() {
    const all = document.createDocumentFragment();
    for (const entry of [...rows].sort(compare)) {
      all.append(entry.row);
      if (entry.open) all.append(entry.open.row);
    }
    body.append(all);
    for (const head of list.tHead.querySelectorAll("th[data-sort]")) {
      if (head.dataset.sort === state.key) head.setAttribute("aria-sort", state.up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    }
    sort.value = state.key;
    direction.textContent = state.up ? "↑" : "↓";
  }

  function sift() {
    let count = 0;
    for (const entry of rows) {
      const flags = entry.row.dataset.flags.split(" ");
      const shown = (!state.filter || flags.includes(state.filter)) && state.words.every((word) => haystack(entry).includes(word));
      entry.row.hidden = !shown;
      if (entry.open) entry.open.row.hidden = !shown;
      count += shown;
    }
    document.getElementById("found").textContent = count === rows.length ? "" : `${count} of ${counted(rows.length, "group")}`;
    document.getElementById("nothing").hidden = count > 0;
    redrawAll();
  }

  // A picture that was hidden, or whose window changed, is drawn again for the width it has now.
  function redrawAll() {
    for (const { open } of rows) if (open && !open.row.hidden) open.redraw();
  }

  function sortBy(key, up) {
    state.key = key;
    state.up = up;
    arrange();
  }

  const firstDirection = (key) => BEST_FIRST.has(key) || !payload.figures.some(([name]) => name === key);

  for (const head of list.tHead.querySelectorAll("th[data-sort]")) {
    const key = head.dataset.sort;
    const button = el("button", { type: "button" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => sortBy(key, state.key === key ? !state.up : firstDirection(key)));
    sort.append(el("option", { value: key }, key === "rank" ? "severity" : head.textContent));
  }
  // Every other figure can be sorted by, too, and what stands in words beside the name.
  const words = [["system", "system"], ["kind", "kind"], ["strategy", "strategy"], ["state", "state"]];
  const shown = new Set([...sort.options].map((option) => option.value));
  for (const [name, label] of [...words, ...payload.figures]) if (!shown.has(name)) sort.append(el("option", { value: name }, label));
  for (const entry of rows) {
    const name = entry.row.querySelector(".name");
    const button = el("button", { type: "button", class: "open", "aria-expanded": "false" });
    name.replaceWith(button);
    button.append(name);
    entry.row.addEventListener("click", (event) => {
      if (event.target.closest("button") === button || (!event.target.closest("button") && String(getSelection()) === "")) {
        toggle(entry);
        if (entry.open) history.replaceState(null, "", `#g${entry.at}`);
      }
    });
  }
  for (const tile of document.querySelectorAll(".tile")) {
    tile.addEventListener("click", () => {
      const name = tile.dataset.filter;
      state.filter = state.filter === name ? "" : name;
      for (const each of document.querySelectorAll(".tile")) each.setAttribute("aria-pressed", String(each.dataset.filter === state.filter));
      sift();
    });
  }
  search.addEventListener("input", () => {
    state.words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    sift();
  });
  sort.addEventListener("change", () => sortBy(sort.value, firstDirection(sort.value)));
  direction.addEventListener("click", () => sortBy(state.key, !state.up));
  document.querySelector(".tools").addEventListener("submit", (event) => event.preventDefault());
  let waiting = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(redrawAll);
  });
  const goTo = () => {
    const wanted = /^#g(\d+)$/.exec(location.hash);
    const entry = wanted && rows[Number(wanted[1])];
    if (entry) {
      toggle(entry, true);
      entry.row.scrollIntoView();
    }
    return Boolean(entry);
  };
  addEventListener("hashchange", goTo);
  document.querySelector(".tools").hidden = false;
  document.body.classList.add("live");
  arrange();
  // The worst group is what one came for.
  if (!goTo()) toggle(rows[0], true);
}
