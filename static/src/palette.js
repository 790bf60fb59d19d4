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

const listURL = "/dashboard/find";
const groups = ["Pages", "Templates", "Documents", "Keys", "Guides", "API reference", "Search"];
const maxPerGroup = 6;
let entries = []; // the pages and the documentation
let isLoaded = false;
let accountEntries = []; // results of the account for accountQuery
let accountQuery = "";
let options = [];
let selectedIndex = 0;
let lastSearch = 0;

const fetchList = async (url) => {
  try {
    const response = await fetch(url, { headers: { Accept: "application/json" } });
    return response.ok && !response.redirected ? await response.json() : [];
  } catch {
    return [];
  }
};

// rank is how well an entry fits the terms: by its title, by other words for it, or not at all.
const rank = ({ title, note = "", words = "" }, terms) =>
  terms.reduce((sum, word) => {
    const position = title.toLowerCase().indexOf(word);
    if (position >= 0) return sum + (position === 0 || /\W/.test(title[position - 1]) ? 100 : 50);
    return (note + " " + words).toLowerCase().includes(word) ? sum + 10 : -Infinity;
  }, 0);

const findMatches = (text) => {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!terms.length) return entries.filter(({ group }) => group === "Pages");

  const ranked = entries.map((entry) => ({ entry, points: rank(entry, terms) })).filter(({ points }) => points > 0);
  const query = "?q=" + encodeURIComponent(text);
  return [
    ...ranked.sort((a, b) => b.points - a.points).map(({ entry }) => entry),
    ...accountEntries.filter((entry) => text === accountQuery || rank(entry, terms) > 0),
    { group: "Search", title: `Search documents for “${text}”`, url: "/dashboard/documents" + query },
    { group: "Search", title: `Search requests for “${text}”`, url: "/dashboard/requests" + query },
  ];
};

const selectOption = (index) => {
  options[selectedIndex]?.setAttribute("aria-selected", "false");
  selectedIndex = options.length ? (index + options.length) % options.length : 0;

  const option = options[selectedIndex];
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  if (option) field.setAttribute("aria-activedescendant", option.id);
  else field.removeAttribute("aria-activedescendant");
};

const element = (name, text, attributes = {}) => {
  const node = document.createElement(name);
  node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};

const createOption = ({ title, note, url }) => {
  const id = "palette-" + options.length;
  const option = element("a", "", { role: "option", href: url, tabindex: "-1", id, "aria-selected": "false" });
  option.append(element("span", title));
  if (note) option.append(element("small", note));
  options.push(option);
  return option;
};

const createGroup = (name, members) => {
  const section = element("div", "", { role: "group", "aria-label": name });
  section.append(element("p", name, { "aria-hidden": "true" }), ...members.map(createOption));
  return section;
};

const showResults = () => {
  const text = field.value.trim();
  const found = findMatches(text);

  const sections = [];
  options = [];
  for (const name of groups) {
    const members = found.filter(({ group }) => group === name).slice(0, text ? maxPerGroup : undefined);
    if (members.length) sections.push(createGroup(name, members));
  }
  list.replaceChildren(...sections);
  selectOption(0);

  const isSearch = (option) => option.parentElement.getAttribute("aria-label") === "Search";
  status.textContent = countText(options.filter((option) => !isSearch(option)).length);
};

const countText = (count) => {
  if (!isLoaded) return "Loading";
  if (!entries.length) return "Could not load the list. Reload the page.";
  return count === 1 ? "1 result" : `${count || "No"} results`;
};

// The account's documents, templates and keys are fetched when the typing pauses.
const search = () => {
  const searchID = ++lastSearch;
  const text = field.value.trim();
  if (text.length < 2) accountEntries = [];
  showResults();
  if (text.length < 2) return;

  setTimeout(async () => {
    if (searchID !== lastSearch) return;
    const found = await fetchList(listURL + "?q=" + encodeURIComponent(text));
    if (searchID !== lastSearch) return;
    accountEntries = found;
    accountQuery = text;
    showResults();
  }, 120);
};

const steps = { ArrowDown: 1, ArrowUp: -1 };
field.addEventListener("input", search);
field.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (steps[event.key]) {
    event.preventDefault();
    selectOption(selectedIndex + steps[event.key]);
  } else if (event.key === "Enter" && options[selectedIndex]) {
    event.preventDefault();
    options[selectedIndex].dispatchEvent(
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

const openPalette = async () => {
  if (dialog.open) return dialog.close();
  if (document.querySelector("dialog:modal")) return;

  field.value = "";
  accountEntries = [];
  document.querySelector(".nav:popover-open")?.hidePopover();
  dialog.showModal();
  showResults();

  if (entries.length) return;
  entries = await fetchList(listURL);
  isLoaded = true;
  showResults();
};
document.addEventListener("palette", openPalette);
openPalette();
