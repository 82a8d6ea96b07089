// Runs in a page of `treedef view`, after its script: uses it as a person would, and leaves what it saw in the document.
const seen = [];
const check = (what, is) => { if (!is) seen.push(`FAILED ${what}`); };
const press = key => (document.activeElement || document.body).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const rows = () => [...document.querySelectorAll("#tree .row")].map(row => row.innerText.replace(/\s*copy path$/, "").replaceAll("\n", " "));
const mode = document.documentElement.dataset.check;

check("no script of the document ran", window.hacked === undefined && document.querySelectorAll("img, iframe, svg").length === 0);
check("two scripts and the driver", document.querySelectorAll("script").length === 3);
const other = document.createElement("script");
other.textContent = "window.injected = 1";
document.body.append(other);
other.remove();
check("another script does not run", window.injected === undefined);
if (mode === "plain") {
  check("the root is open", rows().length > 1 && document.querySelector("[role=treeitem]").getAttribute("aria-expanded") === "true");
  press("ArrowDown");
  const before = rows().length, first = document.activeElement;
  check("arrow down moves the focus", first.getAttribute("role") === "treeitem" && first !== root.element);
  press("End"); press("ArrowLeft");
  check("arrow left goes to the parent", document.activeElement === root.element);
  press("ArrowLeft");
  check("arrow left folds", rows().length === 1);
  press("Enter");
  check("enter unfolds", rows().length === before);
  press("ArrowDown"); press("c");
  check("c says the path", output.textContent !== "");
  press("/");
  check("slash searches", document.activeElement === input);
  show("servers[*].port");
  check("a pattern finds nodes", output.textContent === "2 places" && found.children.length === 2);
  show("**.host");
  check("any steps find nodes", output.textContent === "2 places");
  show("*.x");
  check("a first star is a field", output.textContent === "1 place");
  show("1.5");
  check("a word may look like a pattern", output.textContent === "1 place");
  for (const [text, count] of [["layers[*].w", 3], ["**.w", 3], ["layers[1].w", 1], ["**[1].**", 6], ["*.**.w", 3], ["\"z\"", 3]]) {
    show(text);
    check(`folded neighbours are places of their own: ${text}`, output.textContent === (count === 1 ? "1 place" : `${count} places`));
  }
  show("EVIL");
  check("a word finds nodes", output.textContent === "3 places");
  show("**.host");
  found.querySelectorAll("button")[1].click();
  check("a hit is revealed", focused.node[2] === "\"y\"" && pathOf(focused) === ".servers[1].host");
}
if (mode === "diff") {
  for (const kind of ["added", "removed", "changed"]) check(kind, document.querySelector(`li.${kind}`));
  check("counts", output.textContent === `${data.changes} changes`);
}
if (mode === "large") {
  const start = performance.now();
  check("a million leaves in few rows", rows().length <= 102);
  reveal([777777]);
  check("revealed", pathOf(focused) === "[777777]" && rows().length < 500);
  const revealed = performance.now();
  show("[123456].id");
  check("found", output.textContent === "1 place");
  seen.push(`loaded in ${Math.round(start)} ms, revealed in ${Math.round(revealed - start)} ms, searched in ${Math.round(performance.now() - revealed)} ms`);
}
document.body.replaceChildren(Object.assign(document.createElement("pre"), { textContent: seen.concat("checked").join("\n") }));
