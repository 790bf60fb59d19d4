// The palette finds any page, document, template, key and guide by a part of its name. app.js loads it on first use.

const dialog = document.createElement("dialog");
dialog.className = "dialog palette";
dialog.setAttribute("aria-label", "Go to page");
dialog.innerHTML = `
  <input type="text" role="combobox" maxlength="200"
    aria-label="Go to a page, document, template, key or guide" placeholder="Page, document, template, key or guide"
    aria-controls="palette-list" aria-expanded="true" aria-autocomplete="list"
    autocomplete="off" autocapitalize="none" spellcheck="false">
  <div role="listbox" id="palette-list" aria-label="Results"></div>
  <p role="status"></p>`;
document.body.append(dialog);
const [field, list, status] = dialog.children;

const path = "/dashboard/find";
const groups = ["Pages", "Templates", "Documents", "Keys", "Guides", "API reference", "Search"];
const mostOfAGroup = 6;
let places = []; // the pages and the documentation
let loaded = false;
let own = []; // what the account has for a text
let ownText = "";
let options = [];
let chosen = 0;
let asked = 0;

const get = async (address) => {
  try {
    const answer = await fetch(address, { headers: { Accept: "application/json" } });
    return answer.ok && !answer.redirected ? await answer.json() : [];
  } catch {
    return [];
  }
};

// rank is how well a place fits the words: by its title, by other words for it, or not at all.
const rank = ({ title, note = "", words = "" }, wanted) =>
  wanted.reduce((sum, word) => {
    const at = title.toLowerCase().indexOf(word);
    if (at >= 0) return sum + (at === 0 || /\W/.test(title[at - 1]) ? 100 : 50);
    return (note + " " + words).toLowerCase().includes(word) ? sum + 10 : -Infinity;
  }, 0);

const matches = (text) => {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return places.filter(({ group }) => group === "Pages");

  const fit = places.map((place) => ({ place, points: rank(place, wanted) })).filter(({ points }) => points > 0);
  const query = "?q=" + encodeURIComponent(text);
  return [
    ...fit.sort((a, b) => b.points - a.points).map(({ place }) => place),
    ...own.filter((place) => text === ownText || rank(place, wanted) > 0),
    { group: "Search", title: `Search documents for “${text}”`, url: "/dashboard/documents" + query },
    { group: "Search", title: `Search requests for “${text}”`, url: "/dashboard/requests" + query },
  ];
};

const choose = (index) => {
  options[chosen]?.setAttribute("aria-selected", "false");
  chosen = options.length ? (index + options.length) % options.length : 0;

  const option = options[chosen];
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  if (option) field.setAttribute("aria-activedescendant", option.id);
  else field.removeAttribute("aria-activedescendant");
};

const element = (name, text, attributes = {}) => {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

const optionOf = ({ title, note, url }) => {
  const id = "palette-" + options.length;
  const option = element("a", "", { role: "option", href: url, tabindex: "-1", id, "aria-selected": "false" });
  option.append(element("span", title));
  if (note) option.append(element("small", note));
  options.push(option);
  return option;
};

const groupOf = (name, members) => {
  const part = element("div", "", { role: "group", "aria-label": name });
  part.append(element("p", name, { "aria-hidden": "true" }), ...members.map(optionOf));
  return part;
};

const show = () => {
  const text = field.value.trim();
  const found = matches(text);

  const parts = [];
  options = [];
  for (const name of groups) {
    const members = found.filter(({ group }) => group === name).slice(0, text ? mostOfAGroup : undefined);
    if (members.length) parts.push(groupOf(name, members));
  }
  list.replaceChildren(...parts);
  choose(0);

  const isSearch = (option) => option.parentElement.getAttribute("aria-label") === "Search";
  status.textContent = countText(options.filter((option) => !isSearch(option)).length);
};

const countText = (count) => {
  if (!loaded) return "Loading";
  if (!places.length) return "Could not load the list. Reload the page.";
  return count === 1 ? "1 result" : `${count || "No"} results`;
};

// The account's documents, templates and keys are fetched when the typing pauses.
const ask = () => {
  const mine = ++asked;
  const text = field.value.trim();
  if (text.length < 2) own = [];
  show();
  if (text.length < 2) return;

  setTimeout(async () => {
    if (mine !== asked) return;
    const found = await get(path + "?q=" + encodeURIComponent(text));
    if (mine !== asked) return;
    own = found;
    ownText = text;
    show();
  }, 120);
};

const moves = { ArrowDown: 1, ArrowUp: -1 };
field.addEventListener("input", ask);
field.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (moves[event.key]) {
    event.preventDefault();
    choose(chosen + moves[event.key]);
  } else if (event.key === "Enter" && options[chosen]) {
    event.preventDefault();
    options[chosen].dispatchEvent(
      new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey: event.ctrlKey, metaKey: event.metaKey }),
    );
  }
});
list.addEventListener("click", (event) => {
  if (event.target.closest("a") && !event.ctrlKey && !event.metaKey && !event.shiftKey) dialog.close();
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});

const open = async () => {
  if (dialog.open) return dialog.close();
  if (document.querySelector("dialog:modal")) return;

  field.value = "";
  own = [];
  document.querySelector(".nav:popover-open")?.hidePopover();
  dialog.showModal();
  show();

  if (places.length) return;
  places = await get(path);
  loaded = true;
  show();
};
document.addEventListener("palette", open);
open();
