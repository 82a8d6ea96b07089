"use strict";
// A node of the document is [key, class, label, children or text, extra]; the last two may be missing, and the key of an
// element is its index. Only textContent is set, so nothing that a document holds becomes markup.
const data = JSON.parse(document.getElementById("data").textContent);
const tree = document.getElementById("tree"), found = document.getElementById("found");
const input = document.querySelector("input"), output = document.querySelector("output");
const CHUNK = 100, MOST = 1000;
// The words of the grammar are in quotes, as `select` takes them.
const WORD = /^\["(?!(?:static|None|Some|true|false|inf|nan|none|opaque|_|bool|[iu](?:8|16|32|64|128|size)|f32|f64|char|str|bytes|inff32|inff64)")([A-Za-z_][A-Za-z0-9_]*)"\]$/;

document.title = data.title;
document.querySelector("h1").textContent = data.title;

const make = (tag, kind, text) => {
  const element = document.createElement(tag);
  if (kind) element.className = kind;
  if (text !== undefined) element.textContent = text;
  return element;
};
const KINDS = ["node", "array", "text", "number", "bool", "none"];
const keyOf = node => typeof node[0] === "number" ? `[${node[0]}]` : node[0];
const kindOf = node => KINDS[node[1]];
const readable = node => keyOf(node).replace(WORD, ".$1");
const childrenOf = node => Array.isArray(node[3]) ? node[3] : [];
const extraOf = node => node[4] || {};
const repeatOf = node => extraOf(node).repeat || 1;
// The key, with the first and the last index if the node stands for equal neighbours.
const spanned = node => repeatOf(node) === 1 ? readable(node)
  : readable(node).replace(/(\d+)(\]?)$/, (_, first, end) => `${first}–${+first + repeatOf(node) - 1}${end}`);
const isOpenable = node => childrenOf(node).length > 0 || typeof node[3] === "string";

// What is drawn for a range of children: themselves, or ranges of ranges where there are many.
function parts(item) {
  const [from, to] = item.range || [0, childrenOf(item.node).length];
  const all = [];
  let size = 1;
  while ((to - from) / size > CHUNK) size *= CHUNK;
  for (let at = from; at < to; at += size) {
    if (size === 1) all.push({ node: childrenOf(item.node)[at], parent: item, at });
    else all.push({ node: item.node, parent: item, range: [at, Math.min(to, at + size)] });
  }
  return all;
}

function pathOf(item) {
  const keys = [];
  for (let at = item; at; at = at.parent) if (!at.range) keys.push(readable(at.node));
  return keys.reverse().join("");
}

function draw(item) {
  const { node, range } = item, extra = extraOf(node), element = make("li");
  item.element = element;
  element.item = item;
  element.tabIndex = -1;
  element.setAttribute("role", "treeitem");
  const row = make("div", "row");
  const openable = range || isOpenable(node);
  row.append(make("span", "twist", openable ? "▸" : ""));
  if (range) {
    row.append(make("span", "count", `${range[0]} … ${range[1] - 1}`));
  } else {
    if (extra.status) element.classList.add(extra.status);
    const key = spanned(node);
    if (key) row.append(make("span", "key", key.replace(/^\./, "")));
    row.append(make("span", "label " + kindOf(node), node[2]));
    if (extra.histogram) row.append(make("span", "histogram", extra.histogram));
    if (extra.repeat) row.append(make("span", "repeat", `× ${extra.repeat}`));
    const copy = make("button", "copy", "copy path");
    copy.tabIndex = -1;
    copy.addEventListener("click", event => { event.stopPropagation(); copyPath(item); });
    row.append(copy);
  }
  row.addEventListener("click", () => { focus(item); toggle(item); });
  element.append(row);
  if (!range && extra.note) element.append(make("div", "note", extra.note));
  if (openable) element.setAttribute("aria-expanded", "false");
  return element;
}

function open(item) {
  if (item.list || !item.element.hasAttribute("aria-expanded")) return;
  item.element.setAttribute("aria-expanded", "true");
  item.element.querySelector(".twist").textContent = "▾";
  if (!item.range && typeof item.node[3] === "string") {
    item.list = make("div", "numbers", item.node[3]);
  } else {
    item.list = make("ul");
    item.list.setAttribute("role", "group");
    item.parts = parts(item);
    item.list.append(...item.parts.map(draw));
  }
  item.element.append(item.list);
}

function close(item) {
  if (!item.list) return;
  item.list.remove();
  item.list = item.parts = undefined;
  item.element.setAttribute("aria-expanded", "false");
  item.element.querySelector(".twist").textContent = "▸";
}

const toggle = item => item.list ? close(item) : open(item);

let focused;
function focus(item) {
  if (focused) focused.element.tabIndex = -1;
  focused = item;
  item.element.tabIndex = 0;
  item.element.focus({ preventScroll: true });
  item.element.querySelector(".row").scrollIntoView({ block: "nearest" });
}

function copyPath(item) {
  const path = pathOf(item) || ".";
  const done = () => { output.textContent = `copied ${path}`; };
  output.textContent = path;
  if (navigator.clipboard) navigator.clipboard.writeText(path).then(done, () => {});
}

// Unfolds the way to a node, which is given by the positions of children.
function reveal(way) {
  let item = root;
  for (const at of way) {
    open(item);
    let next = item.parts.find(part => part.range ? part.range[0] <= at && at < part.range[1] : part.at === at);
    while (next.range) {
      open(next);
      next = next.parts.find(part => part.range ? part.range[0] <= at && at < part.range[1] : part.at === at);
    }
    item = next;
  }
  focus(item);
}

// The steps of a pattern, or undefined if the text is none.
function steps(text) {
  // `.***` is `.*` and `**`; only the first `*` needs no dot.
  const token = /\*\*|\.\*\*(?!\*)|\.\*|^\*|\[\*\]|\?|\[(-?\d+)(?:[iu]\d+)?\]|\[("(?:[^"\\]|\\.)*")\]|\.?([^.[\]*?"]+)|\./y;
  const all = [];
  while (token.lastIndex < text.length) {
    const match = token.exec(text);
    if (!match) return undefined;
    const [whole, index, name, word] = match;
    if (whole.endsWith("**")) all.push({ any: "**" });
    else if (whole === "[*]") all.push({ any: whole });
    else if (whole.endsWith("*")) all.push({ any: ".*" });
    else if (index !== undefined) all.push({ key: index });
    else if (name !== undefined) { try { all.push({ key: JSON.parse(name) }); } catch { return undefined; } }
    else if (word !== undefined) all.push({ key: word });
  }
  return all;
}

// The name or the number in a key such as `.name`, `["name"]`, `[3]`, `[3u64]`, `.0`.
function nameOf(node) {
  const key = node[0];
  if (typeof key === "number") return String(key);
  if (key.startsWith("[\"")) { try { return JSON.parse(key.slice(1, -1)); } catch { return key; } }
  return key.replace(/^[.[]|\]$/g, "").replace(/^(-?\d+)[iu]\d+$/, "$1");
}

// The names of the places that a node stands for, each with their number; null is that of indices for which the pattern
// does not ask.
function namesOf(pattern, node) {
  const first = nameOf(node), repeat = repeatOf(node);
  if (repeat === 1) return [[first, 1]];
  const isHere = key => /^(0|[1-9]\d*)$/.test(key) && +key >= +first && +key < +first + repeat;
  const asked = [...new Set(pattern.map(step => step.key))].filter(isHere);
  return [...asked.map(key => [key, 1]), [null, repeat - asked.length]];
}

function matches(step, node, name) {
  if (!step.any) return name === step.key;
  const key = keyOf(node);
  return step.any === "[*]" ? key.startsWith("[") : !key.startsWith("[") || key.startsWith("[\"");
}

// Walks all nodes, and calls `visit` with the node, the way to it and the state of its parent.
function walk(start, visit) {
  const open = [[data.root, [], start]];
  while (open.length) {
    const [node, way, state] = open.pop();
    const next = visit(node, way, state);
    if (next === undefined) continue;
    const children = childrenOf(node);
    for (let at = children.length - 1; at >= 0; at--) open.push([children[at], [...way, at], next]);
  }
}

// Positions in a pattern, with those behind each `**` at them.
function positions(pattern, all) {
  for (const at of all) if (pattern[at] && pattern[at].any === "**") all.add(at + 1);
  return all;
}

// The sets of positions in a pattern after a node, each with the number of places that have it, from those before.
function advance(pattern, before, node) {
  const after = new Map();
  for (const [name, count] of namesOf(pattern, node)) for (const [old, places] of before.values()) {
    const next = [];
    for (const at of old) {
      const step = pattern[at];
      if (node[0] === "?" || step && step.any === "**") next.push(at);
      else if (step && matches(step, node, name)) next.push(at + 1);
    }
    if (!next.length || !count) continue;
    const set = new Set(next);
    const key = [...positions(pattern, set)].join(), same = after.get(key);
    after.set(key, [set, places * count + (same ? same[1] : 0)]);
  }
  return after;
}

// The nodes that a text finds, as a pattern and as a word. A node that stands for equal neighbours is several places.
function search(text) {
  const hits = [], named = new Set();
  let count = 0, more = 0;
  const hit = (way, places) => {
    count += places;
    if (hits.length < MOST) hits.push(way); else more += places;
  };
  const pattern = /[.[*]/.test(text) ? steps(text) : undefined;
  if (pattern) {
    walk(new Map([["", [positions(pattern, new Set([0])), 1]]]), (node, way, before) => {
      if (!way.length) return before;
      const after = advance(pattern, before, node);
      let places = 0;
      for (const [set, count] of after.values()) if (set.has(pattern.length)) places += count;
      if (places) { hit(way, places); named.add(way.join()); }
      return after.size ? after : undefined;
    });
  }
  const word = text.toLowerCase();
  walk(1, (node, way, before) => {
    const places = before * repeatOf(node), label = kindOf(node) === "node" ? "" : node[2];
    const has = nameOf(node).toLowerCase().includes(word) || label.toLowerCase().includes(word);
    if (has && !(named.size && named.has(way.join()))) hit(way, places);
    return places;
  });
  return { hits, count, more };
}

function show(text) {
  found.replaceChildren();
  found.hidden = !text;
  output.textContent = "";
  if (!text) return;
  const { hits, count, more } = search(text);
  output.textContent = count === 1 ? "1 place" : `${count} places`;
  found.append(...hits.map(way => {
    let node = data.root, path = "";
    for (const at of way) { node = childrenOf(node)[at]; path += spanned(node); }
    const line = make("li"), button = make("button", "", `${path || "."}: ${node[2]}`);
    button.addEventListener("click", () => reveal(way));
    line.append(button);
    return line;
  }));
  if (more) found.append(make("li", "count", `… and ${more} more`));
}

let timer;
input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => show(input.value.trim()), 150); });
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === input) {
    if (event.key === "Escape") { input.value = ""; show(""); focus(focused); }
    return;
  }
  if (event.key === "/") { event.preventDefault(); input.focus(); return; }
  if (!focused || !tree.contains(document.activeElement)) return;
  const rows = () => [...tree.querySelectorAll("[role=treeitem]")];
  const move = by => { const all = rows(), at = all.indexOf(focused.element) + by; if (all[at]) focus(all[at].item); };
  const keys = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    ArrowRight: () => focused.list ? move(1) : open(focused),
    ArrowLeft: () => focused.list ? close(focused) : focused.parent && focus(focused.parent),
    Home: () => focus(root),
    End: () => focus(rows().pop().item),
    Enter: () => toggle(focused),
    " ": () => toggle(focused),
    c: () => copyPath(focused),
  };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});

const root = { node: data.root };
tree.append(draw(root));
focus(root);
open(root);

if (data.changes !== null) {
  const ways = [];
  walk(true, (node, way) => {
    const { status } = extraOf(node);
    if (status && status !== "inside") ways.push(way);
    return status === "inside" ? true : undefined;
  });
  output.textContent = data.changes === 1 ? "1 change" : `${data.changes} changes`;
  for (const note of data.notes) output.textContent += `; ${note}`;
  const next = document.getElementById("next");
  next.hidden = ways.length === 0;
  let at = 0;
  next.addEventListener("click", () => reveal(ways[at++ % ways.length]));
  for (const way of ways.slice(0, 20)) reveal(way);
  focus(root);
}
