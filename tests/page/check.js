// Runs inside a page (tests/page.sh puts it there) and reports what a reader would stumble over: text that is clipped, leaves
// its box or lies over other text, too little contrast, a page wider than the screen or longer than it may be. With "opened" in
// the query all that is closed at first is open, and the length is free.
(function () {
  "use strict";
  const faults = [];
  const say = (what, element) => {
    const text = (element && element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 60);
    if (faults.length < 40) faults.push(text ? `${what}: “${text}”` : what);
  };
  const asked = new URLSearchParams(location.search);
  const theme = asked.get("theme");
  if (theme) document.documentElement.dataset.theme = theme;
  // What is closed counts as hidden, and most of a page stands in what is closed at first.
  const opened = asked.has("opened");
  if (opened) for (const e of document.querySelectorAll("details")) e.open = true;

  const shown = (e) => {
    if (e.checkVisibility && !e.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return false;
    const box = e.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && box.right > 0;
  };
  const ownText = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim() !== "");
  const scrolls = (e) => e.closest(".scroll");

  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width + 1) say(`the page is ${document.documentElement.scrollWidth} wide on a screen of ${width}`);
  const height = document.documentElement.scrollHeight;
  if (!opened && width >= 1440 && height > 12 * 900) say(`the page is ${height} high; 12 screens are ${12 * 900}`);

  // Text in its box.
  for (const e of document.querySelectorAll("body *:not(svg *):not(script):not(style)")) {
    if (!ownText(e) || !shown(e) || e.classList.contains("skip")) continue;
    const box = e.getBoundingClientRect();
    if (!scrolls(e) && (box.right > width + 1 || box.left < -1)) say("leaves the screen", e);
    const style = getComputedStyle(e);
    if (style.overflowX !== "visible" && e.scrollWidth > e.clientWidth + 1 && !scrolls(e)) say("clipped", e);
  }

  // Text in pictures: within the picture, and not over other text.
  for (const svg of document.querySelectorAll("svg.chart:not(.defs)")) {
    if (!shown(svg)) continue;
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].filter(shown).map((t) => ({ t, box: t.getBoundingClientRect() }));
    for (const { t, box } of texts) {
      const beside = box.left < frame.left - 3 || box.right > frame.right + 3;
      if (beside || box.top < frame.top - 3 || box.bottom > frame.bottom + 3) say("leaves its picture", t);
    }
    for (let i = 0; i < texts.length; i++) {
      for (let j = i + 1; j < texts.length; j++) {
        const a = texts[i].box, b = texts[j].box;
        const over = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const across = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (over > 2 && across > 5) say(`“${texts[j].t.textContent}” lies over`, texts[i].t);
      }
    }
  }

  // What a chart says of its points, by key: something at once, and nothing that no point is.
  for (const svg of document.querySelectorAll("svg[data-kind]")) {
    if (!shown(svg)) continue;
    const press = (key) => svg.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    for (const key of ["ArrowRight", "PageDown", "PageDown", "ArrowLeft"]) {
      press(key);
      const tip = svg.parentNode.querySelector(".tip:not([hidden])");
      if (!tip) { say("says nothing of its points", svg); break; }
      const [, lowest] = (svg.dataset.y || "").match(/^([^|]*)/) || [];
      if (tip.getBoundingClientRect().right > width + 1) say("a read-out leaves the screen", tip);
      if (/NaN|undefined|Infinity/.test(tip.textContent) || (Number(lowest) >= 0 && /: -/.test(tip.textContent))) say("a wrong read-out", tip);
    }
    press("Escape");
    // Closer, it speaks only of what is within the frame.
    const frame = svg.querySelector("clipPath rect");
    if (!frame || svg.dataset.names) continue;
    const box = svg.getBoundingClientRect();
    const [left, wide] = ["x", "width"].map((name) => Number(frame.getAttribute(name)));
    const point = (type, share) => svg.dispatchEvent(new PointerEvent(type, {
      bubbles: true, clientX: box.left + (left + share * wide) * box.width / svg.viewBox.baseVal.width, clientY: box.top + box.height / 2,
    }));
    point("pointerdown", 0.4);
    point("pointerup", 0.6);
    if (!svg.dataset.zoom) say("does not come closer", svg);
    for (const key of ["ArrowRight", ...Array(50).fill("PageDown"), ...Array(50).fill("PageUp")]) {
      press(key);
      const ring = svg.querySelector(".ring");
      const at = ring && ring.style.display !== "none" ? Number(ring.getAttribute("cx")) : left;
      if (at < left || at > left + wide) { say("a ring beside its frame", svg.closest("figure").querySelector("figcaption")); break; }
    }
    press("Escape");
    point("dblclick", 0.5);
  }

  // Contrast of text and ground: 4.5, or 3 for large letters (WCAG 2.1).
  const parse = (c) => (c.match(/[\d.]+/g) || []).map(Number);
  const light = (c) => {
    const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (let p = e; p; p = p.parentElement) {
      const c = parse(getComputedStyle(p).backgroundColor);
      if (c.length === 3 || c[3] > 0.5) return c.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const seen = new Set();
  for (const e of document.querySelectorAll("body *")) {
    if (!ownText(e) || !shown(e) || e.closest("script,style")) continue;
    const style = getComputedStyle(e);
    const isSvg = e instanceof SVGElement;
    const ink = parse(isSvg ? style.fill : style.color).slice(0, 3);
    const paper = ground(isSvg ? e.ownerSVGElement.parentElement : e);
    const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.6 && style.fontWeight >= 700) ? 3 : 4.5;
    const key = ink + "|" + paper;
    if (ratio < needed && !seen.has(key)) { seen.add(key); say(`contrast ${ratio.toFixed(1)} instead of ${needed}`, e); }
  }

  // Links within the page lead somewhere.
  for (const a of document.querySelectorAll("a[href^='#']")) {
    if (!document.getElementById(decodeURIComponent(a.hash.slice(1)))) say(`${a.hash} leads nowhere`, a);
  }
  const report = { width, height, faults };
  if (window.parent !== window) window.parent.postMessage(report, "*");
})();
