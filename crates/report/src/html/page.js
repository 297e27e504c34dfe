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
  if (window.innerWidth < 1060) document.querySelector(".toc details").open = false;

  const three = (v) => String(Number(v.toPrecision(3)));
  const si = (v) => {
    const m = Math.abs(v);
    return m >= 999.5e3 ? three(v / 1e6) + "M" : m >= 999.5 ? three(v / 1e3) + "K" : three(v);
  };
  const latency = (us) => us < 1 ? three(us * 1e3) + " ns" : us < 1e3 ? three(us) + " µs"
    : us < 1e6 ? three(us / 1e3) + " ms" : three(us / 1e6) + " s";
  const withUnit = (v, unit) => unit === "us" ? latency(v) : (unit === "s" ? Math.round(v) : si(v)) + (unit ? " " + unit : "");
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
      ring.setAttribute("cx", p.x);
      ring.setAttribute("cy", p.y);
      const at = svg.dataset.names ? names[Math.round(x.value(p.x))] : withUnit(x.value(p.x), x.unit);
      tip.textContent = (p.name ? p.name + ": " : "") + withUnit(y.value(p.y), y.unit) + " at " + at;
      const scale = svg.clientWidth / svg.viewBox.baseVal.width;
      const room = svg.clientWidth - tip.offsetWidth;
      tip.style.left = Math.max(0, Math.min(room, p.x * scale - tip.offsetWidth / 2)) + "px";
      tip.style.top = Math.max(0, p.y * scale - tip.offsetHeight - 12) + "px";
    };
    const hide = () => { if (tip) { tip.hidden = true; ring.style.display = "none"; } };
    svg.addEventListener("pointermove", (event) => {
      load();
      const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
      const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
      let best = -1, least = 900;
      all.forEach((p, i) => {
        const far = (p.x - x) ** 2 + (p.y - y) ** 2;
        if (far < least) { least = far; best = i; }
      });
      if (best >= 0) show(best); else hide();
    });
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
