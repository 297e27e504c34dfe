// Theme toggle and chart read-outs. The page is complete without either.
(function () {
  "use strict";
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("ssdlab-theme"); } catch { return null; } };
  const isDark = () => (root.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  if (stored()) root.dataset.theme = stored();
  button.hidden = false;
  button.setAttribute("aria-label", "Switch between light and dark");
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("ssdlab-theme", root.dataset.theme); } catch { /* a file opened from disk may not store */ }
    label();
  });
  prefersDark.addEventListener("change", label);
  label();

  // On a narrow screen the contents would fill the first view.
  const contents = document.querySelector(".toc details");
  if (window.innerWidth < 1060 && contents) contents.open = false;

  // A link may lead into what is closed.
  const reveal = () => {
    let name = location.hash.slice(1);
    try { name = decodeURIComponent(name); } catch { /* a name with a % of its own */ }
    const target = name && document.getElementById(name);
    if (!target) return;
    for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", reveal);
  // It may have been closed since the same link was followed.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) reveal();
  });
  reveal();
  // A link to each place: click on its heading.
  for (const caption of document.querySelectorAll("figure[id] > figcaption > b")) {
    const link = document.createElement("a");
    link.href = "#" + caption.closest("figure").id;
    link.className = "place";
    caption.replaceWith(link);
    link.append(caption);
  }

  // Switches: an entry of a legend hides its series, a drive above the charts hides it in all of them. What is drawn is the state
  // of all switches: one is off if nothing of it is drawn.
  const isDrawn = (path) => path.style.display !== "none";
  const switches = [];
  const toggle = (element, paths) => {
    if (!paths.length) return;
    switches.push([element, paths]);
    element.setAttribute("role", "button");
    element.setAttribute("tabindex", "0");
    element.setAttribute("aria-pressed", "true");
    const turn = () => {
      const display = element.getAttribute("aria-pressed") === "true" ? "none" : "";
      for (const path of paths) path.style.display = display;
      for (const [each, marks] of switches) each.setAttribute("aria-pressed", String(marks.some(isDrawn)));
    };
    element.addEventListener("click", turn);
    element.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); turn(); }
    });
  };
  const find = (root, fits) => [...root.querySelectorAll("[data-name],[data-marks]")]
    .filter((path) => fits(path.dataset.name ?? path.dataset.marks));
  for (const key of document.querySelectorAll("svg[data-kind] .key")) {
    const svg = key.closest("svg");
    const { key: named, of } = key.dataset;
    const fits = of === "drive" ? (name) => name.startsWith(named + ", ")
      : of === "kind" ? (name) => name.endsWith(", " + named) : (name) => name === named;
    // What is within an image is nothing to a screen reader.
    svg.setAttribute("role", "group");
    toggle(key, find(svg, fits));
  }
  for (const drive of document.querySelectorAll(".drives [data-drive]")) {
    const name = drive.dataset.drive, charts = document.getElementById("charts");
    // In charts of one drive alone nothing bears its name.
    const alone = [...charts.querySelectorAll("figure[data-drive]")].filter((figure) => figure.dataset.drive === name);
    const own = alone.flatMap((figure) => find(figure, () => true));
    toggle(drive, [...new Set([...find(charts, (n) => n === name || n.startsWith(name + ", ")), ...own])]);
  }

  // As the program prints figures: number.rs.
  const digits = (v, n) => String(Number(v.toPrecision(n)));
  const scales = [[999.5e9, 1e12, "T"], [999.5e6, 1e9, "G"], [999.5e3, 1e6, "M"], [999.5, 1e3, "K"], [-1, 1, ""]];
  const si = (v, n) => {
    const [, divisor, letter] = scales.find(([from]) => Math.abs(v) >= from);
    return digits(v / divisor, n) + letter;
  };
  const latency = (us, n) => us === 0 ? "0 µs" : us < 0.9995 ? digits(us * 1e3, n) + " ns" : us < 999.5 ? digits(us, n) + " µs"
    : us < 999.5e3 ? digits(us / 1e3, n) + " ms" : digits(us / 1e6, n) + " s";
  // An axis of shares holds 1/(1-p).
  const share = (v) => String(Number((100 - 100 / v).toFixed(Math.floor(Math.log10(v) + 1e-9)))) + " %";
  // How many digits v has before its point; less than one where it begins behind it.
  const size = (v) => 1 + Math.floor(Math.log10(Math.abs(v)) + 1e-9);
  // Nobody says 1.4K seconds.
  const plain = (v, n) => Math.abs(v) < 1000 ? digits(v, n)
    : v.toLocaleString("en-US", { maximumFractionDigits: Math.max(0, n - size(v)) });
  const isLatency = (unit) => unit === "us" || unit === "µs";
  // As at a tick: beside an axis stands its unit, but that of latencies and shares.
  const bare = (v, unit, n = 3) => isLatency(unit) ? latency(v, n) : unit === "1/(1-p)" ? share(Math.max(v, 1))
    : unit === "s" || unit === "GB" ? plain(v, n) : si(v, n);
  const named = (figure, unit) =>
    isLatency(unit) || ["", "1/(1-p)", "ratio", "count"].includes(unit) ? figure : figure + " " + unit;
  const withUnit = (v, unit, n = 3) => named(bare(v, unit, n), unit);
  // A place in a chart is known to a tenth: no more of its value is told than that tells.
  const reading = (axis, at) => {
    const v = axis.value(at), step = Math.abs(axis.value(at + 0.05) - axis.value(at - 0.05));
    if (axis.unit === "1/(1-p)" || step === 0) return withUnit(v, axis.unit);
    if (Math.abs(v) < step) return axis.lowest < 0 ? "about 0" + (axis.unit ? " " + axis.unit : "") : "under " + withUnit(step, axis.unit, 1);
    return withUnit(v, axis.unit, Math.max(1, Math.min(3, 1 + Math.floor(Math.log10(Math.abs(v) / step)))));
  };
  // Axis: lowest and highest value, kind, coordinates of both, end of the strip for zero, unit.
  const axis = (text) => {
    const [lo, hi, kind, from, to, zero, ...unit] = text.split("|");
    const a = +lo, b = +hi, c = +from, d = +to;
    return {
      unit: unit.join("|"),
      isLog: kind === "log",
      lowest: Math.min(a, b),
      ends: [Math.min(c, d), Math.max(c, d)],
      value: (at) => {
        if (zero !== "" && (at - zero) * (d - c) < 0) return 0;
        const share = (at - c) / (d - c);
        return kind === "log" ? a * Math.pow(b / a, share) : a + share * (b - a);
      },
      place: (v) => c + (d - c) * (kind === "log" ? Math.log(v / a) / Math.log(b / a) : (v - a) / (b - a)),
    };
  };
  // The ticks that stand at the values of the data: coordinate and label.
  const ticksAtData = (svg) => {
    const parts = (svg.dataset.ticks || "").split("|");
    return parts.flatMap((at, i) => i % 2 === 0 && at ? [[+at, parts[i + 1]]] : []);
  };
  // Multiples of 1, 2 or 5 × 10^n, and how far they are apart: about four, and not one, which tells no scale.
  const evenly = (lo, hi) => {
    for (let want = 4; want < 64; want++) {
      const least = (hi - lo) / want, base = Math.pow(10, Math.floor(Math.log10(least)));
      const step = base * [1, 2, 5, 10].find((m) => m * base >= least * 0.999999);
      const first = Math.ceil(lo / step - 1e-9), last = Math.floor(hi / step + 1e-9);
      if (last > first) return [Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step), step];
    }
    return [[], 1];
  };
  // Round values between two of an axis, with their labels, as scale.rs has them: each to as many digits as the step takes.
  const ticks = ({ isLog, unit }, lo, hi) => {
    const ofShares = unit === "1/(1-p)";
    if (isLog) {
      const exponents = Array.from({ length: 2 + Math.ceil(Math.log10(hi / lo)) }, (_, i) => Math.floor(Math.log10(lo)) + i);
      const multiples = (of) => exponents.flatMap((n) => of.map((m) => m * Math.pow(10, n)));
      const inside = (values) => values.filter((v) => v >= lo * (1 - 1e-9) && v <= hi * (1 + 1e-9));
      const fine = inside(ofShares ? [2, ...multiples([1]).filter((v) => v > 1.5)] : multiples([1, 2, 5]));
      const round = fine.length > 7 && !ofShares ? inside(multiples([1])) : fine;
      if (round.length > 1) return round.map((v) => [v, bare(v, unit)]);
    }
    const percent = (v) => 100 - 100 / v;
    const [values, step] = ofShares ? evenly(percent(lo), percent(hi)) : evenly(lo, hi);
    return values.map((v) => ofShares ? [100 / (100 - v), Number(v.toFixed(Math.max(0, 1 - size(step)))) + " %"]
      : [v, bare(v, unit, Math.max(3, v === 0 ? 0 : 1 + size(v) - size(step)))]);
  };
  // The points of a path are its data: dots are short strokes, lines run from point to point.
  const points = (path, kind) => {
    const out = [];
    let x = 0, y = 0;
    const d = path.getAttribute("d");
    for (const [, op, first, second] of d.matchAll(/([MmLhv])\s*(-?\d*\.?\d+)(?:[ ,]?(-?\d*\.?\d+))?/g)) {
      const n = +first, k = +(second || 0);
      if (op === "M" || op === "L") { x = n; y = k; } else if (op === "m") { x += n; y += k; }
      if (kind === "line") out.push([x, y]);
      else if (op === "h") { out.push([x + n / 2, y]); x += n; } else if (op === "v") { out.push([x, y + n / 2]); y += n; }
    }
    return out;
  };

  // Drag across a chart to look closer, double-click to see all again. Only the x axis is stretched.
  const zoomable = (svg, hide) => {
    const layer = svg.querySelector(".zoom"), labels = svg.querySelector(".xt");
    if (!layer || !labels || svg.dataset.names) return;
    const whole = labels.innerHTML, frame = svg.querySelector("clipPath rect");
    const left = +frame.getAttribute("x"), width = +frame.getAttribute("width");
    const top = +frame.getAttribute("y"), height = +frame.getAttribute("height");
    let from = null, mark = null, scale = 1, shift = 0, drawn = null;
    // What marks a place with a dash: its length, and the places. A closer look moves dashes apart and leaves them as long as they are.
    const dashes = () => drawn ??= [...layer.querySelectorAll("path[data-name]")].flatMap((path) => {
      const [, long] = (svg.dataset.kind !== "line" && path.getAttribute("d").match(/h([\d.]+)/)) || [];
      return long > 0.1 ? [[path, +long, points(path, svg.dataset.kind)]] : [];
    });
    const coord = (v) => Math.round(v * 1000) / 1000;
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      const x = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
      return Math.max(left, Math.min(left + width, x));
    };
    const draw = () => {
      layer.setAttribute("transform", scale === 1 ? "" : `matrix(${scale} 0 0 1 ${shift} 0)`);
      for (const path of layer.querySelectorAll("path")) path.setAttribute("vector-effect", "non-scaling-stroke");
      for (const [path, long, places] of dashes()) {
        const half = coord(long / scale / 2);
        path.setAttribute("d", places.map(([x, y]) => `M${coord(x - half)} ${coord(y)}h${coord(2 * half)}`).join(""));
      }
      if (scale === 1) { labels.innerHTML = whole; return; }
      const first = labels.querySelector("text"), x = axis(svg.dataset.x);
      const y = first.getAttribute("y"), font = +first.getAttribute("font-size");
      const add = (name, attributes, content) => {
        const element = document.createElementNS("http://www.w3.org/2000/svg", name);
        for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
        element.textContent = content;
        labels.append(element);
      };
      const [, over, bottom] = labels.querySelector("path.n").getAttribute("d").match(/^M\S+ (\S+?)V([\d.]+)/);
      labels.textContent = "";
      // The frame has room for marks on the edge: the axis ends before.
      const [begin, end] = x.ends.map((at) => Math.max(left, Math.min(left + width, at * scale + shift)));
      const seen = ([at]) => at >= begin - 0.1 && at <= end + 0.1;
      const moved = ([at, label]) => [coord(at * scale + shift), label];
      const [lo, hi] = [begin, end].map((at) => x.value((at - shift) / scale));
      const ofData = ticksAtData(svg).map(moved).filter(seen);
      const shown = ofData.length ? ofData : ticks(x, lo, hi).map(([v, label]) => moved([x.place(v), label]));
      add("path", { class: "n", d: shown.map(([at]) => `M${at} ${over}V${bottom}`).join("") }, "");
      let free = -Infinity, marks = "";
      for (const [at, label] of shown) {
        const half = label.length * font * 0.33, widest = svg.viewBox.baseVal.width;
        const middle = Math.max(half, Math.min(widest - half, at));
        if (middle - half < free) continue;
        free = middle + half + font * 0.6;
        marks += `M${at} ${bottom}v5`;
        add("text", { x: middle, y, "font-size": font, class: "t", "text-anchor": "middle" }, label);
      }
      add("path", { class: "x", d: marks }, "");
      svg.dataset.zoom = scale + "|" + shift;
    };
    const stop = () => { if (mark) mark.remove(); from = mark = null; };
    window.addEventListener("pointercancel", stop);
    svg.addEventListener("pointerdown", (event) => {
      // A finger scrolls; other buttons have menus.
      if (event.target.closest(".key") || event.pointerType === "touch" || event.button !== 0) return;
      stop();
      from = at(event);
      mark = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      mark.setAttribute("class", "selection");
      mark.setAttribute("y", top);
      mark.setAttribute("height", height);
      mark.setAttribute("width", 0);
      svg.append(mark);
    });
    svg.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const to = at(event);
      mark.setAttribute("x", Math.min(from, to));
      mark.setAttribute("width", Math.abs(to - from));
    });
    window.addEventListener("pointerup", (event) => {
      if (from === null) return;
      // Beside the axis there is room for marks alone.
      const [first, last] = axis(svg.dataset.x).ends.map((x) => x * scale + shift);
      const to = at(event), a = Math.max(first, Math.min(from, to)), b = Math.min(last, Math.max(from, to));
      stop();
      // Further in there is nothing more to see, and no ticks that could be told apart.
      if (b - a < 8 || scale > 1e4) return;
      const closer = width / (b - a);
      shift = left + (shift - a) * closer;
      scale *= closer;
      hide();
      draw();
    });
    svg.addEventListener("dblclick", () => { scale = 1; shift = 0; svg.dataset.zoom = ""; hide(); draw(); });
  };

  for (const svg of document.querySelectorAll("svg[data-kind]")) {
    let all = null, index = -1, tip = null, ring = null;
    const names = (svg.dataset.names || "").split("|");
    const load = () => {
      if (all) return;
      all = [];
      for (const path of svg.querySelectorAll("path[data-name]")) {
        const own = path.dataset.points ? path.dataset.points.split("|") : [];
        points(path, svg.dataset.kind).forEach(([x, y], i) => all.push({ x, y, path, name: own[i] || path.dataset.name }));
      }
      all.sort((p, q) => p.x - q.x);
    };
    const zoomed = () => (svg.dataset.zoom || "1|0").split("|").map(Number);
    // What a switch hides, or lies beside a frame that shows a part of the axis, is nothing to point at.
    const frame = svg.querySelector("clipPath rect");
    const seen = () => {
      const [scale, shift] = zoomed();
      const from = frame && +frame.getAttribute("x"), to = frame && from + +frame.getAttribute("width");
      const isInside = (at) => scale === 1 || (at >= from && at <= to);
      return (p) => isDrawn(p.path) && isInside(p.x * scale + shift);
    };
    const show = (i) => {
      index = i;
      const p = all[i], x = axis(svg.dataset.x), y = axis(svg.dataset.y);
      if (!tip) {
        tip = document.createElement("div");
        tip.className = "tip";
        tip.setAttribute("role", "status");
        svg.parentNode.append(tip);
        ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
        ring.setAttribute("class", "ring");
        ring.setAttribute("r", "5");
        svg.append(ring);
      }
      tip.hidden = false;
      ring.style.display = "";
      const [scale0, shift0] = zoomed();
      const screen = p.x * scale0 + shift0;
      ring.setAttribute("cx", screen);
      ring.setAttribute("cy", p.y);
      // A value that has a tick of its own is told in full, as that has it.
      const tick = ticksAtData(svg).find(([at]) => Math.abs(at - p.x) <= 0.1);
      const at = svg.dataset.names ? names[Math.round(x.value(p.x))] : tick ? named(tick[1], x.unit) : reading(x, p.x);
      tip.textContent = (p.name ? p.name + ": " : "") + reading(y, p.y) + " at " + at;
      const scale = svg.clientWidth / svg.viewBox.baseVal.width;
      const room = svg.clientWidth - tip.offsetWidth;
      tip.style.left = Math.max(0, Math.min(room, screen * scale - tip.offsetWidth / 2)) + "px";
      tip.style.top = Math.max(0, p.y * scale - tip.offsetHeight - 12) + "px";
    };
    const hide = () => { if (tip) { tip.hidden = true; ring.style.display = "none"; } };
    svg.addEventListener("pointermove", (event) => {
      load();
      const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
      const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
      let best = -1, least = 900;
      const [zoom, shift] = zoomed(), isSeen = seen();
      all.forEach((p, i) => {
        if (!isSeen(p)) return;
        const far = (p.x * zoom + shift - x) ** 2 + (p.y - y) ** 2;
        if (far < least) { least = far; best = i; }
      });
      if (best >= 0) show(best); else hide();
    });
    zoomable(svg, hide);
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 50, PageUp: -50 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      load();
      // By so many of the points that are seen, or to the last of them.
      const isSeen = seen();
      let to = index;
      for (let left = Math.abs(step), i = index + Math.sign(step); left > 0 && i >= 0 && i < all.length; i += Math.sign(step)) {
        if (isSeen(all[i])) { to = i; left -= 1; }
      }
      if (to >= 0 && isSeen(all[to])) show(to);
    });
  }
})();
