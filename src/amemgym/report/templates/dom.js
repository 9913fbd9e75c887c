// Making elements: whatever comes from data or from a model becomes a text node, never markup.

// Texts longer than this are shown in part, with a button for the rest.
const CLIPPED = 2000;

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// The first characters of a text, not half of one.
function start(text, length) {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? length - 1 : length);
}

function short(text, length) {
  const line = start(text, 4 * length).replace(/\s+/g, " ").trim();
  return line.length < text.trim().length || line.length > length ? `${start(line, length)}…` : line;
}

function counted(number, thing) {
  return `${number} ${thing}${number === 1 ? "" : "s"}`;
}

// A text in a line with others: its direction is its own.
function inline(text) {
  return make("bdi", {}, text);
}

// A whole text, of any length and direction.
function whole(text) {
  const node = make("div", { class: "text", dir: "auto" }, start(text, CLIPPED));
  if (text.length <= CLIPPED) return node;
  const button = make("button", { type: "button", class: "screen-only" }, `show all ${text.length.toLocaleString("en")} characters`);
  const rest = make("div", {}, node, button);
  button.addEventListener("click", () => {
    node.textContent = text;
    button.remove();
  });
  return rest;
}

// Details that are filled when they are first opened.
const fillers = new WeakMap();

function fold(summary, fill, attributes) {
  const details = make("details", attributes, make("summary", {}, summary));
  fillers.set(details, fill);
  details.addEventListener("toggle", () => { if (details.open) unfold(details); });
  return details;
}

function unfold(details) {
  const fill = fillers.get(details);
  if (fill) {
    fillers.delete(details);
    details.append(...[fill()].flat(2).filter(Boolean));
  }
  details.open = true;
}

function table(label, head, rows, attributes) {
  return make(
    "div",
    { class: "wide", role: "region", tabindex: "0", "aria-label": label },
    make(
      "table",
      attributes,
      make("thead", {}, make("tr", {}, head.map((cell) => make("th", { scope: "col" }, cell)))),
      make("tbody", {}, rows),
    ),
  );
}

function tag(kind) {
  return make("span", { class: `tag kind-${kind}` }, kind);
}
