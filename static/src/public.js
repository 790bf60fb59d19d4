// What public pages do beyond links and forms.

const find = (selector, scope = document) => scope.querySelector(selector);

// The box on the first page renders without loading its page again.
const initLiveForm = (box) => {
  const form = find("form", box);
  const button = find("button[type=submit]", form);
  let lastRequest = 0;

  const render = async (event) => {
    event.preventDefault();
    const requestID = ++lastRequest;
    button.setAttribute("aria-busy", "true");
    try {
      const response = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
      const result = find(".live .result", new DOMParser().parseFromString(await response.text(), "text/html"));
      if (requestID !== lastRequest) return;
      if (!result) throw new Error(response.statusText);

      // The last result stays while there is an error.
      const banner = find(".banner", result);
      const shownResult = find(".result", box);
      find(".banner", shownResult)?.remove();
      if (banner) shownResult.prepend(document.adoptNode(banner));
      else shownResult.replaceWith(document.adoptNode(result));
    } catch {
      HTMLFormElement.prototype.submit.call(form); // without script, then
    } finally {
      if (requestID === lastRequest) button.removeAttribute("aria-busy");
    }
  };

  form.addEventListener("submit", render);
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit(button);
    }
  });
};

const dollars = (micros) => {
  const whole = micros / 1_000_000n;
  const rest = String(micros % 1_000_000n).padStart(6, "0");
  return whole === 0n ? `$0.${rest.slice(0, 4)}` : `$${whole.toLocaleString("en-US")}.${rest.slice(0, 2)}`;
};

// The calculator computes in microdollars, as the service does.
const initCalculator = (form) => {
  const showPrices = () => {
    let sum = 0n;
    for (const field of form.querySelectorAll("[data-price]")) {
      const text = field.value.replace(/[,. ]/g, "");
      const isInvalid = !/^\d{0,10}$/.test(text);
      field.toggleAttribute("aria-invalid", isInvalid);
      if (isInvalid) field.setAttribute("aria-invalid", "true");

      const price = isInvalid || text === "" ? 0n : BigInt(text) * BigInt(field.dataset.price);
      find(`output[for="${field.id}"]`, form).textContent = dollars(price);
      sum += price;
    }
    find("[data-sum]", form).textContent = dollars(sum);
  };

  form.addEventListener("input", showPrices);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    showPrices();
  });
};

// rank is how well an entry of the index fits the words. A word in the title counts most, then one of the words that
// customers use for the page.
const rank = ({ page, title, words: synonyms = "", text }, words) =>
  words.reduce((sum, word) => {
    const partIndex = [title, synonyms, page, text].findIndex((part) => part.toLowerCase().includes(word));
    return partIndex < 0 ? -Infinity : sum + [100, 30, 10, 1][partIndex];
  }, 0);

const createResult = ({ url, title, page }) => {
  const link = document.createElement("a");
  link.href = url;
  link.textContent = title;

  const pageName = document.createElement("span");
  pageName.textContent = page;

  const item = document.createElement("li");
  item.append(link, pageName);
  return item;
};

// The search over the docs uses an index that is fetched once.
const initSearch = (form) => {
  const field = find("input", form);
  const list = find("[data-found]", form.parentElement);
  let index;
  const loadIndex = () => (index ??= fetch(form.dataset.search).then((response) => response.json()));

  const showMessage = (text) => {
    const item = document.createElement("li");
    item.textContent = text;
    list.replaceChildren(item);
    list.hidden = false;
  };

  const showResults = async () => {
    let entries;
    try {
      entries = await loadIndex();
    } catch {
      index = undefined; // the next input loads it again
      return showMessage("Search is unavailable. Try again.");
    }

    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = entries
      .map((entry) => ({ entry, points: rank(entry, words) }))
      .filter(({ points }) => points > 0)
      .sort((a, b) => b.points - a.points)
      .slice(0, 12);

    list.replaceChildren(...found.map(({ entry }) => createResult(entry)));
    list.hidden = !words.length;
    if (words.length && !found.length) showMessage("No results contain all of these words.");
  };

  field.addEventListener("focus", showResults);
  field.addEventListener("input", showResults);
  form.parentElement.addEventListener("focusout", (event) => {
    if (!form.parentElement.contains(event.relatedTarget)) list.hidden = true;
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    showResults().then(() => find("a", list)?.focus());
  });
};

// A link to a field unfolds the objects that it is in. Not all browsers do so themselves.
const unfoldTarget = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  let fold = target?.parentElement.closest("details:not([open])");
  if (!fold) return;
  for (; fold; fold = fold.parentElement.closest("details:not([open])")) fold.open = true;
  target.scrollIntoView();
};
if (find(".folded")) {
  unfoldTarget();
  addEventListener("hashchange", unfoldTarget);
}

// The open page is in sight in a table of contents that scrolls by itself.
const docsNav = find(".docs-nav");
const currentLink = docsNav && find("[aria-current]", docsNav);
if (currentLink && docsNav.scrollHeight > docsNav.clientHeight) {
  docsNav.scrollTop = currentLink.offsetTop - docsNav.clientHeight / 2;
}

for (const [selector, init] of [
  ["[data-live]", initLiveForm],
  ["[data-calculator]", initCalculator],
  ["[data-search]", initSearch],
]) {
  document.querySelectorAll(selector).forEach(init);
}
