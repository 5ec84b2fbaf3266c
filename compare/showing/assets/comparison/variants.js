// A card per variant: its charts, drawn when they come into view, and what is under the pointer, in words.

function legend(view, variant) {
  const members = variant.members.map((name, member) => {
    const button = el("button", { type: "button", class: "member", "aria-pressed": view.highlighted === name ? "true" : "false", title: `show ${name} only` }, swatch(member), el("bdi", {}, name));
    button.addEventListener("click", () => view.highlight(name));
    return el("li", {}, button);
  });
  const mark = (name, words) => el("li", {}, svg("svg", { width: 16, height: 12, "aria-hidden": true }, svg("path", { class: name, d: "M2 1h12v10h-12z" })), words);
  return el("ul", { class: "legend" }, ...members, mark("ground", "no owner yet"), mark("nobody", "no owner"), mark("twoowners", "two owners"));
}

function card(view, variant, place, play) {
  const charts = place.querySelector(".charts");
  const pictures = el("div", { class: "pictures", tabindex: 0, role: "group", "aria-label": `charts of ${variant.label}: left and right move the described moment, plus and minus change the time range` });
  const readout = el("output", { class: "readout", "aria-live": "off" });
  const above = el("div", {});
  const follow = el("button", { type: "button", class: "link follow", title: "play message by message from this moment" }, "▸ play from here");
  follow.addEventListener("click", play);
  let drawn = null;

  const draw = () => {
    const width = Math.max(300, Math.floor(pictures.clientWidth));
    const main = ownership(view, variant, width);
    const parts = [main.picture];
    if (variant.alone.length) parts.push(el("p", { class: "quiet" }, "BROADCASTING: every member reads every queue, so each row shows what one member reads."));
    if (variant.points.length) parts.push(caption("Queues per member, smallest to largest load; the dashed line is the largest load of the fairest allocation"), evenness(view, variant, main.left, main.plot, width));
    if (variant.sent) parts.push(caption("Messages"), sentOver(view, variant, main.left, main.plot, width), sentLegend(variant));
    if (variant.lag) parts.push(caption("Lag in records"), waiting(view, variant, main.left, main.plot, width));
    if (variant.remarks.length) parts.push(el("p", { class: "quiet remarks" }, variant.remarks.join(" ")));
    above.replaceChildren(legend(view, variant));
    const line = el("div", { class: "cursorline", hidden: true });
    pictures.replaceChildren(...parts, line);
    drawn = { ...main, line };
    point();
  };
  const point = (row = null) => {
    if (!drawn) return;
    const now = view.cursor;
    drawn.line.hidden = now === null || now < view.from || now > view.to;
    if (!drawn.line.hidden) drawn.line.style.left = `${drawn.x(now)}px`;
    readout.textContent = now === null ? "Point at the picture, or use the arrow keys on it." : told(view, variant, drawn.rows, now, row);
  };

  pictures.addEventListener("pointermove", (event) => {
    if (!drawn) return;
    const bounds = pictures.getBoundingClientRect();
    const share = (event.clientX - bounds.left - drawn.left) / drawn.plot;
    if (share < 0 || share > 1) return;
    const row = drawn.rowAt(event.clientY - drawn.picture.getBoundingClientRect().top);
    view.point(view.from + share * (view.to - view.from));
    point(row >= 0 && row < drawn.rows.length ? row : null);
  });
  pictures.addEventListener("keydown", (event) => {
    const step = (view.to - view.from) / 100;
    const now = view.cursor ?? view.from;
    const acts = {
      ArrowLeft: () => view.point(Math.max(now - step, view.from)),
      ArrowRight: () => view.point(Math.min(now + step, view.to)),
      "+": () => view.show(now - (view.to - view.from) / 4, now + (view.to - view.from) / 4),
      "-": () => view.show(now - (view.to - view.from), now + (view.to - view.from)),
      Home: () => view.point(view.from),
      End: () => view.point(view.to),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    readout.setAttribute("aria-live", "polite");
    acts[event.key]();
  });
  charts.append(above, el("div", { class: "pointed" }, readout, follow), pictures);

  let visible = false;
  let stale = true;
  const refresh = () => {
    if (visible && stale) {
      stale = false;
      draw();
    }
  };
  const redraw = () => {
    stale = true;
    refresh();
  };
  view.on("view", redraw);
  view.on("cursor", () => point());
  // What is not looked at is not drawn.
  pictures.style.minHeight = `${variant.rows.length * rowHeight(variant.rows.length) + 240}px`;
  new IntersectionObserver(([entry]) => {
    visible = entry.isIntersecting;
    refresh();
  }, { rootMargin: "300px" }).observe(pictures);
  let before = 0;
  new ResizeObserver(() => {
    if (pictures.clientWidth !== before) redraw();
    before = pictures.clientWidth;
  }).observe(pictures);
}

const caption = (text) => el("p", { class: "caption" }, text);

// What is so at a moment: of the queue under the pointer, else of all.
function told(view, variant, rows, now, row) {
  const when = clock(now, (view.to - view.from) / 500);
  if (row !== null) {
    const name = rowName(variant.rows[row]);
    const owners = rows[row].held.filter((each) => each.since <= now && now < each.until);
    const who = owners.map((each) => `${variant.members[each.member]} (${clock(each.since, 1)} to ${each.until >= view.scenario.end ? "the end" : clock(each.until, 1)})`);
    return `${when} · ${name}: ${who.join(" and ") || "no owner"}`;
  }
  const owned = ownedAt(variant, rows, now);
  const has = owned.map((each, member) => [variant.members[member], each.length]).filter(([, count]) => count);
  return `${when} · ${has.slice(0, 12).map(([name, count]) => `${name} ${count}`).join(", ") || "no queue has an owner"}${has.length > 12 ? ` and ${has.length - 12} more members` : ""}`;
}
