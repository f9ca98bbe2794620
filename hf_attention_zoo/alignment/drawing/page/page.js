"use strict";
// One page for everything that a model looked at. The data stand in the page as JSON; nothing is loaded.
(() => {
  const data = JSON.parse(document.getElementById("zoo-data").textContent);
  const words = {
    en: {
      step: "Word", previous: "Previous word", next: "Next word", play: "Play", pause: "Pause", theme: "Dark or light",
      language: "한국어", source: "Source", target: "Translation", reading: "Word by word", read: "What it looks at",
      layer: "Layer", head: "Head", kind: "Attention", mean: "mean of all", cross: "translation to source",
      encoder: "source to source", decoder: "translation to itself", none: "0", all: "1",
      vector: (n) => `The whole sentence in one vector of ${n} numbers: each word is written from it alone.`,
      looks: (row, list) => `“${row}” looks at ${list}`, weight: "weight", matrix: "Attention weights",
      value: (row, column, weight) => `${row} → ${column}: ${weight}`, of: (i, n) => `${i} of ${n}`,
      hop: "Hop", sum: "all hops", sentence: "sentence weight", hint: "Arrow keys move in the table.",
      strength: "The stronger the colour, the larger the weight.", bright: "The brighter, the larger the weight.",
      gate: "gate", gates: "The gate tells how much of what was seen goes into the word.",
    },
    ko: {
      step: "단어", previous: "이전 단어", next: "다음 단어", play: "재생", pause: "멈춤", theme: "밝게/어둡게",
      language: "English", source: "원문", target: "번역", reading: "한 단어씩", read: "그 단어가 보는 곳",
      layer: "층", head: "헤드", kind: "어텐션", mean: "전체 평균", cross: "번역에서 원문으로", encoder: "원문에서 원문으로",
      decoder: "번역에서 번역으로", none: "0", all: "1",
      vector: (n) => `문장 전체를 숫자 ${n}개로 된 고정 길이 벡터 하나에 담았습니다. 모든 단어를 이 벡터만 보고 씁니다.`,
      looks: (row, list) => `‘${row}’에서 많이 본 단어: ${list}`, weight: "가중치", matrix: "어텐션 가중치",
      value: (row, column, weight) => `${row} → ${column}: ${weight}`, of: (i, n) => `${n}개 중 ${i}번째`,
      hop: "홉", sum: "모든 홉", sentence: "문장 가중치", hint: "표 안에서는 화살표 키로 움직입니다.",
      strength: "색이 짙을수록 가중치가 큽니다.", bright: "밝을수록 가중치가 큽니다.", gate: "게이트",
      gates: "게이트는 본 내용을 그 단어에 얼마나 쓰는지 나타냅니다.",
    },
  };
  let language = data.language || ((navigator.language || "en").startsWith("ko") ? "ko" : "en");
  let step = 0, timer = null;
  const say = (name) => words[language][name];
  const root = document.getElementById("zoo-root");
  const watchers = []; // functions that draw the current step
  const longest = Math.max(1, ...data.stops.map((stop) => (stop.target || []).length));

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "text") element.textContent = value;
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }
  const heat = (weight) => `rgba(var(--heat), ${Math.min(1, Math.max(0, weight)).toFixed(3)})`;
  const shown = (weight) => weight.toFixed(2);
  // A colour behind a text, and a text that can be read on it.
  function colour(element, weight) {
    element.style.background = heat(weight);
    element.classList.toggle("hot", weight > 0.6);
    element.classList.toggle("hottest", weight > 0.78);
    return element;
  }
  const local = (text) => (text && typeof text === "object" ? text[language] || text.en : text);

  function bestOf(row, columns) {
    return row.map((weight, place) => [weight, columns[place]]).filter(([weight]) => weight >= 0.1)
      .sort((one, other) => other[0] - one[0]).slice(0, 3).map(([weight, name]) => `${name} ${shown(weight)}`).join(", ");
  }

  function tokenList(tokens, chosen) {
    const list = make("ul", { class: "tokens" });
    tokens.forEach((token, place) => {
      const inside = chosen ? make("button", { type: "button", text: token, onclick: () => go(place),
        onmouseenter: () => go(place) }) : make("span", { text: token });
      list.append(make("li", {}, inside));
    });
    return list;
  }

  // A matrix as a table: rows attend to columns. Arrow keys move the focus, hovering shows the weight.
  function matrix(map, follows) {
    const value = make("p", { class: "value", "aria-live": "polite" });
    const head = make("tr", {}, make("td", { style: "border:0" }));
    const heads = map.columns.map((column) => make("th", { scope: "col" }, make("span", { text: column })));
    head.append(...heads);
    const body = make("tbody");
    const rows = map.rows.map((row, r) => {
      const line = make("tr", {}, make("th", { scope: "row", text: row }));
      map.weights[r].forEach((weight, c) => {
        const told = say("value")(row, map.columns[c], shown(weight));
        line.append(make("td", { style: `background:${heat(weight)}`, tabindex: r || c ? "-1" : "0", "aria-label": told,
          onmouseenter: () => { value.textContent = told; }, onfocus: () => { value.textContent = told; },
          onkeydown: (event) => move(event, body, r, c), onclick: () => follows && go(r) }));
      });
      body.append(line);
      return line;
    });
    const table = make("table", { class: "matrix" }, make("caption", { class: "hidden-text",
      text: `${say("matrix")}. ${say("hint")}` }), make("thead", {}, head), body);
    if (follows) watchers.push(() => {
      const now = Math.min(step, map.rows.length - 1);
      rows.forEach((line, r) => {
        line.classList.toggle("later", follows === "written" && r > now);
        line.querySelector("th").classList.toggle("now", r === now);
        line.querySelectorAll("td").forEach((cell) => cell.classList.toggle("now", r === now));
      });
    });
    return make("div", {}, make("div", { class: "scroll" }, table), scale(), value);
  }

  function move(event, body, row, column) {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!by) return;
    event.preventDefault();
    const line = body.rows[row + by[0]], cell = line && line.querySelectorAll("td")[column + by[1]];
    if (!cell) return;
    event.target.tabIndex = -1;
    cell.tabIndex = 0;
    cell.focus();
  }

  const scale = () => make("span", { class: "scale" }, say("none"), make("i"), say("all"), ` ${say("weight")}`);

  function strip(vector) {
    const most = Math.max(1e-9, ...vector.map(Math.abs));
    const cells = vector.map((number) => make("i", { title: number.toFixed(3),
      style: `background:${number < 0 ? `rgba(200, 90, 40, ${(-number / most).toFixed(3)})` : heat(number / most)}` }));
    return make("div", {}, make("p", { class: "soft", text: say("vector")(vector.length) }),
      make("div", { class: "strip", role: "img", "aria-label": say("vector")(vector.length) }, ...cells));
  }

  function choice(name, options, changed) {
    const select = make("select", { onchange: () => changed(select.value) },
      ...options.map(([value, text]) => make("option", { value, text })));
    return [make("label", {}, say(name), select), select];
  }

  // Heads and layers of several kinds of attention; with one map there is nothing to choose.
  function maps(stop, parts) {
    const place = make("div");
    const kinds = [...new Set(stop.maps.map((map) => map.kind))];
    const bar = make("div", { class: "choices" });
    const state = { kind: kinds[0], layer: null, head: "mean" };
    const chosen = () => stop.maps.filter((map) => map.kind === state.kind);
    function averaged() {
      const there = chosen().filter((map) => state.layer === null || String(map.layer) === state.layer);
      const some = state.head === "mean" ? there : there.filter((map) => String(map.head) === state.head);
      const first = some[0];
      const weights = first.weights.map((row, r) => row.map((_, c) =>
        some.reduce((sum, map) => sum + map.weights[r][c], 0) / some.length));
      return { ...first, weights };
    }
    function draw() {
      const map = averaged();
      parts.map = map.kind === "cross" || stop.itself ? map : null;
      place.replaceChildren(matrix(map, stop.itself ? "read" : map.kind === "encoder" ? null : "written"));
      show();
    }
    function controls() {
      bar.replaceChildren();
      if (kinds.length > 1) {
        const [label, select] = choice("kind", kinds.map((kind) => [kind, say(kind)]),
          (kind) => { state.kind = kind; state.layer = null; state.head = "mean"; controls(); draw(); });
        select.value = state.kind;
        bar.append(label);
      }
      const layers = [...new Set(chosen().map((map) => String(map.layer)))];
      const heads = [...new Set(chosen().map((map) => String(map.head)))];
      if (layers.length > 1) {
        state.layer = state.layer ?? layers[layers.length - 1];
        const [label, select] = choice("layer", layers.map((one) => [one, one === "mean" ? say("mean") : one]),
          (one) => { state.layer = one; draw(); });
        select.value = state.layer;
        bar.append(label);
      }
      if (heads.length > 1) {
        const [label, select] = choice("head", [["mean", say("mean")], ...heads.map((one) => [one, one])],
          (one) => { state.head = one; draw(); });
        select.value = state.head;
        bar.append(label);
      }
    }
    controls();
    draw();
    return make("div", {}, bar, place);
  }

  function translation(stop) {
    const source = tokenList(stop.source, false), target = tokenList(stop.target, true);
    const told = make("p", { class: "value" });
    const parts = { map: null };
    watchers.push(() => {
      const now = Math.min(step, stop.target.length - 1);
      [...target.children].forEach((one, place) => {
        one.classList.toggle("now", place === now);
        one.classList.toggle("later", !stop.itself && place > now);
        one.firstChild.setAttribute("aria-current", place === now ? "step" : "false");
      });
      const row = parts.map ? parts.map.weights[now] : null;
      [...source.children].forEach((one, place) => {
        colour(one, row && row.length === stop.source.length ? row[place] : 0);
      });
      told.textContent = row ? say("looks")(stop.target[now], bestOf(row, parts.map.columns)) : "";
    });
    const above = [make("span", { class: "soft", text: say(stop.itself ? "read" : "source") }), source];
    const below = [make("span", { class: "soft", text: say(stop.itself ? "reading" : "target") }), target];
    return make("div", {}, ...(stop.itself ? [...below, ...above] : [...above, ...below]), told,
      stop.vector ? strip(stop.vector) : null, stop.maps && stop.maps.length ? maps(stop, parts) : null);
  }

  function coloured(tokens, weights) {
    const most = Math.max(1e-9, ...weights);
    return make("span", {}, ...tokens.flatMap((token, place) => [
      colour(make("span", { text: token, title: weights[place].toFixed(4) }), 0.85 * weights[place] / most), " "]));
  }

  function documentView(stop) {
    const most = Math.max(1e-9, ...stop.sentences.map((one) => one.weight));
    return make("div", { class: "running" }, make("p", { class: "soft", text: say("strength") }),
      ...stop.sentences.map((one) => make("div", { class: "sentence" },
        colour(make("b", { text: shown(one.weight), title: say("sentence") }), 0.85 * one.weight / most),
        coloured(one.words, one.weights))));
  }

  function hopsView(stop) {
    return make("div", { class: "running" }, make("p", { class: "soft", text: say("strength") }),
      ...stop.texts.flatMap((text) => {
        const place = make("div");
        const draw = (hop) => place.replaceChildren(coloured(text.tokens, hop === "sum" ? text.summed : text.hops[hop]));
        const [label] = choice("hop", [["sum", say("sum")], ...text.hops.map((_, hop) => [hop, String(hop + 1)])], draw);
        draw("sum");
        return [make("div", { class: "choices" }, label), place];
      }));
  }

  function pictureView(stop) {
    const figures = stop.panels.map((panel, place) => make("figure", { onmouseenter: () => go(place) },
      make("img", { alt: `${stop.target[place]}`, src: panel }),
      make("figcaption", { text: stop.target[place] + (stop.gates ? ` (${say("gate")} ${shown(stop.gates[place])})` : "") })));
    watchers.push(() => figures.forEach((figure, place) => {
      figure.classList.toggle("now", place === Math.min(step, figures.length - 1));
      figure.classList.toggle("later", place > step);
    }));
    const legend = `${say("bright")}${stop.gates ? ` ${say("gates")}` : ""}`;
    return make("div", {}, make("p", { class: "soft", text: legend }), make("div", { class: "panels" },
      make("figure", {}, make("img", { alt: stop.said, src: stop.picture })), ...figures));
  }

  const views = { translation, document: documentView, hops: hopsView, picture: pictureView };

  function section(stop) {
    const named = [local(data.title)]; // a page of one result does not say its title twice
    const name = named.includes(stop.title) ? null : make("h2", { text: stop.title });
    const paper = stop.paper ? make("p", { class: "soft", text: stop.paper }) : null;
    const about = stop.about ? make("p", { text: local(stop.about) }) : null;
    const said = stop.said && !named.includes(stop.said) ? make("p", { class: "said", text: stop.said }) : null;
    return make("section", { class: "stop", "aria-label": stop.title }, name, paper, said, about, views[stop.view](stop));
  }

  const live = make("p", { class: "hidden-text", "aria-live": "polite" });
  const slider = make("input", { type: "range", min: "0", max: String(longest - 1), value: "0",
    oninput: () => go(Number(slider.value)) });
  const counter = make("span", { class: "soft" });

  function show() {
    watchers.forEach((watch) => watch());
    slider.value = String(step);
    counter.textContent = say("of")(step + 1, longest);
    slider.setAttribute("aria-valuetext", counter.textContent);
  }
  function go(to) {
    step = Math.min(longest - 1, Math.max(0, to));
    show();
    live.textContent = data.stops.filter((stop) => stop.target).map((stop) =>
      `${stop.title}: ${stop.target[Math.min(step, stop.target.length - 1)] ?? ""}`).join(". ");
  }
  function play(button) {
    if (timer) { clearInterval(timer); timer = null; } else {
      if (step === longest - 1) step = -1;
      timer = setInterval(() => { go(step + 1); if (step === longest - 1) { clearInterval(timer); timer = null; draw(); } }, 900);
    }
    button.textContent = say(timer ? "pause" : "play");
  }
  function turn() {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
  }

  function draw() {
    watchers.length = 0;
    document.documentElement.lang = language;
    const steps = data.stops.some((stop) => stop.target);
    const playing = make("button", { type: "button", id: "zoo-play", text: say(timer ? "pause" : "play"), onclick: () => play(playing) });
    const stepping = steps ? [make("label", { class: "soft" }, say("step"), " ", slider), counter,
      make("button", { type: "button", id: "zoo-previous", "aria-label": say("previous"), text: "◀", onclick: () => go(step - 1) }),
      make("button", { type: "button", id: "zoo-next", "aria-label": say("next"), text: "▶", onclick: () => go(step + 1) }), playing] : [];
    const bar = make("div", { class: "bar" }, make("div", {}, ...stepping,
      make("button", { type: "button", id: "zoo-theme", text: say("theme"), onclick: turn }),
      make("button", { type: "button", id: "zoo-language", text: say("language"),
        onclick: () => { language = language === "en" ? "ko" : "en"; draw(); document.getElementById("zoo-language").focus(); } })));
    root.replaceChildren(
      make("header", {}, make("h1", { text: local(data.title) }), data.about ? make("p", { text: local(data.about) }) : null),
      bar, make("main", {}, make("div", { class: "stops" }, ...data.stops.map(section))), live);
    show();
  }
  document.addEventListener("keydown", (event) => {
    if (["INPUT", "SELECT", "TD"].includes(event.target.tagName)) return;
    if (event.key === "ArrowRight") go(step + 1);
    if (event.key === "ArrowLeft") go(step - 1);
  });
  draw();
})();
