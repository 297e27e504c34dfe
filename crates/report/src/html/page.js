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

  // Switches: an entry of a legend hides its series, a drive above the charts hides it in all of them.
  const toggle = (element, find) => {
    element.setAttribute("role", "button");
    element.setAttribute("tabindex", "0");
    element.setAttribute("aria-pressed", "true");
    const turn = () => {
      const shown = element.getAttribute("aria-pressed") !== "true";
      element.setAttribute("aria-pressed", String(shown));
      for (const path of find()) {
        const hidden = Number(path.dataset.hidden ?? 0) + (shown ? -1 : 1);
        path.dataset.hidden = hidden;
        path.style.display = hidden > 0 ? "none" : "";
      }
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
    toggle(key, () => find(svg, fits));
  }
  for (const drive of document.querySelectorAll(".drives [data-drive]")) {
    const name = drive.dataset.drive;
    toggle(drive, () => find(document.getElementById("charts"), (n) => n === name || n.startsWith(name + ", ")));
  }

  const three = (v) => String(Number(v.toPrecision(3)));
  const si = (v) => {
    const m = Math.abs(v);
    return m >= 999.5e3 ? three(v / 1e6) + "M" : m >= 999.5 ? three(v / 1e3) + "K" : three(v);
  };
  const latency = (us) => us < 1 ? three(us * 1e3) + " ns" : us < 1e3 ? three(us) + " µs"
    : us < 1e6 ? three(us / 1e3) + " ms" : three(us / 1e6) + " s";
  // An axis of shares holds 1/(1-p).
  const share = (v) => String(Number((100 - 100 / v).toFixed(Math.floor(Math.log10(v) + 1e-9)))) + " %";
  // Nobody says 1.4K seconds.
  const seconds = (v) => Math.abs(v) < 1000 ? three(v) : String(Math.round(v));
  const withUnit = (v, unit) => unit === "us" ? latency(v) : unit === "1/(1-p)" ? share(Math.max(v, 1)) : (unit === "s" ? seconds(v) : si(v)) + (unit ? " " + unit : "");
  // Axis: lowest and highest value, kind, coordinates of both, end of the strip for zero, unit.
  const axis = (text) => {
    const [lo, hi, kind, from, to, zero, ...unit] = text.split("|");
    const a = +lo, b = +hi, c = +from, d = +to;
    return {
      unit: unit.join("|"),
      value: (at) => {
        if (zero !== "" && (at - zero) * (d - c) < 0) return 0;
        const share = (at - c) / (d - c);
        return kind === "log" ? a * Math.pow(b / a, share) : a + share * (b - a);
      },
    };
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
  const zoomable = (svg, axisOf, text, hide) => {
    const layer = svg.querySelector(".zoom"), labels = svg.querySelector(".xt");
    if (!layer || !labels || svg.dataset.names) return;
    const whole = labels.innerHTML, frame = svg.querySelector("clipPath rect");
    const left = +frame.getAttribute("x"), width = +frame.getAttribute("width");
    const top = +frame.getAttribute("y"), height = +frame.getAttribute("height");
    let from = null, mark = null, scale = 1, shift = 0;
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      const x = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
      return Math.max(left, Math.min(left + width, x));
    };
    const draw = () => {
      layer.setAttribute("transform", scale === 1 ? "" : `matrix(${scale} 0 0 1 ${shift} 0)`);
      for (const path of layer.querySelectorAll("path")) path.setAttribute("vector-effect", "non-scaling-stroke");
      if (scale === 1) { labels.innerHTML = whole; return; }
      const first = labels.querySelector("text"), x = axisOf(svg.dataset.x);
      const y = first.getAttribute("y"), size = first.getAttribute("font-size");
      labels.textContent = "";
      for (let i = 0; i <= 4; i++) {
        const place = left + width * i / 4, label = document.createElementNS("http://www.w3.org/2000/svg", "text");
        label.setAttribute("x", place);
        label.setAttribute("y", y);
        label.setAttribute("font-size", size);
        label.setAttribute("class", "t");
        label.setAttribute("text-anchor", i === 0 ? "start" : i === 4 ? "end" : "middle");
        label.textContent = text(x.value((place - shift) / scale), x.unit);
        labels.append(label);
      }
      svg.dataset.zoom = scale + "|" + shift;
    };
    svg.addEventListener("pointerdown", (event) => {
      if (event.target.closest(".key")) return;
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
      const to = at(event), a = Math.min(from, to), b = Math.max(from, to);
      mark.remove();
      from = null;
      if (b - a < 8) return;
      const closer = width / (b - a);
      shift = left + (shift - a) * closer;
      scale *= closer;
      hide();
      draw();
    });
    svg.addEventListener("dblclick", () => { scale = 1; shift = 0; svg.dataset.zoom = ""; hide(); draw(); });
  };

  for (const svg of document.querySelectorAll("svg[data-kind]")) {
    let all = null, index = 0, tip = null, ring = null;
    const names = (svg.dataset.names || "").split("|");
    const load = () => {
      if (all) return;
      all = [];
      for (const path of svg.querySelectorAll("path[data-name]")) {
        const own = path.dataset.points ? path.dataset.points.split("|") : [];
        points(path, svg.dataset.kind).forEach((p, i) => all.push({ x: p[0], y: p[1], name: own[i] || path.dataset.name }));
      }
      all.sort((p, q) => p.x - q.x);
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
      const [scale0, shift0] = (svg.dataset.zoom || "1|0").split("|").map(Number);
      const screen = p.x * scale0 + shift0;
      ring.setAttribute("cx", screen);
      ring.setAttribute("cy", p.y);
      const at = svg.dataset.names ? names[Math.round(x.value(p.x))] : withUnit(x.value(p.x), x.unit);
      tip.textContent = (p.name ? p.name + ": " : "") + withUnit(y.value(p.y), y.unit) + " at " + at;
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
      const [zoom, shift] = (svg.dataset.zoom || "1|0").split("|").map(Number);
      all.forEach((p, i) => {
        const far = (p.x * zoom + shift - x) ** 2 + (p.y - y) ** 2;
        if (far < least) { least = far; best = i; }
      });
      if (best >= 0) show(best); else hide();
    });
    zoomable(svg, axis, withUnit, hide);
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 50, PageUp: -50 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      load();
      if (all.length) show(Math.max(0, Math.min(all.length - 1, index + step)));
    });
  }
})();
