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
    let key = readable(node);
    if (extra.repeat) key = key.replace(/(\d+)(\]?)$/, (_, first, end) => `${first}–${+first + extra.repeat - 1}${end}`);
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
  const token = /\*\*|\.\*|\[\*\]|\?|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.?([^.[\]*?"]+)|\./y;
  const all = [];
  while (token.lastIndex < text.length) {
    const match = token.exec(text);
    if (!match) return undefined;
    const [whole, index, name, word] = match;
    if (whole === "**" || whole === ".*" || whole === "[*]") all.push({ any: whole });
    else if (index !== undefined) all.push({ key: index });
    else if (name !== undefined) { try { all.push({ key: JSON.parse(name) }); } catch { return undefined; } }
    else if (word !== undefined) all.push({ key: word });
  }
  return all;
}

// The name or the index in a key such as `.name`, `["name"]`, `[3]`, `.0`.
function nameOf(node) {
  const key = keyOf(node);
  if (key.startsWith("[\"")) { try { return JSON.parse(key.slice(1, -1)); } catch { return key; } }
  return key.replace(/^[.[]|\]$/g, "");
}

function matches(step, node) {
  const name = nameOf(node), repeat = extraOf(node).repeat || 1;
  if (step.any) return step.any === "**" || (step.any === "[*]") === keyOf(node).startsWith("[") || keyOf(node).startsWith("[\"");
  return name === step.key || repeat > 1 && /^\d+$/.test(step.key) && +step.key >= +name && +step.key < +name + repeat;
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

// The positions in a pattern after a node, from those before it.
function advance(pattern, before, node) {
  const after = new Set();
  const add = at => {
    after.add(at);
    if (pattern[at] && pattern[at].any === "**") add(at + 1);
  };
  if (node === undefined) { add(0); return after; }
  for (const at of before) {
    if (node[0] === "?") add(at);
    else if (pattern[at] && pattern[at].any === "**") add(at);
    else if (pattern[at] && matches(pattern[at], node)) add(at + 1);
  }
  return after;
}

function search(text) {
  const hits = [];
  let count = 0;
  const hit = way => { if (++count <= MOST) hits.push(way); };
  const pattern = /[.[*]/.test(text) ? steps(text) : undefined;
  if (pattern) {
    walk(advance(pattern), (node, way, before) => {
      const after = way.length ? advance(pattern, before, node) : before;
      if (way.length && after.has(pattern.length)) hit(way);
      return after.size ? after : undefined;
    });
  } else {
    const word = text.toLowerCase();
    walk(true, (node, way) => {
      const label = kindOf(node) === "node" ? "" : node[2];
      if (nameOf(node).toLowerCase().includes(word) || label.toLowerCase().includes(word)) hit(way);
      return true;
    });
  }
  return { hits, count };
}

function show(text) {
  found.replaceChildren();
  found.hidden = !text;
  output.textContent = "";
  if (!text) return;
  const { hits, count } = search(text);
  output.textContent = count === 1 ? "1 place" : `${count} places`;
  found.append(...hits.map(way => {
    let node = data.root, path = "";
    for (const at of way) { node = childrenOf(node)[at]; path += readable(node); }
    const line = make("li"), button = make("button", "", `${path || "."}: ${node[2]}`);
    button.addEventListener("click", () => reveal(way));
    line.append(button);
    return line;
  }));
  if (count > MOST) found.append(make("li", "count", `… and ${count - MOST} more`));
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
  const next = document.getElementById("next");
  next.hidden = ways.length === 0;
  let at = 0;
  next.addEventListener("click", () => reveal(ways[at++ % ways.length]));
  for (const way of ways.slice(0, 20)) reveal(way);
  focus(root);
}
