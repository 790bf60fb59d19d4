// What public pages do beyond links and forms.

const one = (selector, scope = document) => scope.querySelector(selector);

// The box on the first page renders without loading its page again.
const live = (box) => {
  const form = one("form", box);
  const button = one("button[type=submit]", form);
  let asked = 0;

  const render = async (event) => {
    event.preventDefault();
    const mine = ++asked;
    button.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
      const made = one(".live .result", new DOMParser().parseFromString(await answer.text(), "text/html"));
      if (mine !== asked) return;
      if (!made) throw new Error(answer.statusText);

      // The last result stays while there is an error.
      const problem = one(".banner", made);
      const shown = one(".result", box);
      one(".banner", shown)?.remove();
      if (problem) shown.prepend(document.adoptNode(problem));
      else shown.replaceWith(document.adoptNode(made));
    } catch {
      HTMLFormElement.prototype.submit.call(form); // without script, then
    } finally {
      if (mine === asked) button.removeAttribute("aria-busy");
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
const calculates = (form) => {
  const reckon = () => {
    let sum = 0n;
    for (const field of form.querySelectorAll("[data-price]")) {
      const text = field.value.replace(/[,. ]/g, "");
      const wrong = !/^\d{0,10}$/.test(text);
      field.toggleAttribute("aria-invalid", wrong);
      if (wrong) field.setAttribute("aria-invalid", "true");

      const comes = wrong || text === "" ? 0n : BigInt(text) * BigInt(field.dataset.price);
      one(`output[for="${field.id}"]`, form).textContent = dollars(comes);
      sum += comes;
    }
    one("[data-sum]", form).textContent = dollars(sum);
  };

  form.addEventListener("input", reckon);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    reckon();
  });
};

// rank is how well an entry of the index fits the words. A word in the title counts most, then one of the words that
// customers use for the page.
const rank = ({ page, title, words: others = "", text }, words) =>
  words.reduce((sum, word) => {
    const place = [title, others, page, text].findIndex((part) => part.toLowerCase().includes(word));
    return place < 0 ? -Infinity : sum + [100, 30, 10, 1][place];
  }, 0);

const resultOf = ({ url, title, page }) => {
  const link = document.createElement("a");
  link.href = url;
  link.textContent = title;

  const where = document.createElement("span");
  where.textContent = page;

  const item = document.createElement("li");
  item.append(link, where);
  return item;
};

// The search over the docs uses an index that is fetched once.
const searchesDocs = (form) => {
  const field = one("input", form);
  const list = one("[data-found]", form.parentElement);
  let index;
  const load = () => (index ??= fetch(form.dataset.search).then((answer) => answer.json()));

  const says = (text) => {
    const item = document.createElement("li");
    item.textContent = text;
    list.replaceChildren(item);
    list.hidden = false;
  };

  const show = async () => {
    let entries;
    try {
      entries = await load();
    } catch {
      index = undefined; // the next input loads it again
      return says("Search is unavailable. Try again.");
    }

    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = entries
      .map((entry) => ({ entry, points: rank(entry, words) }))
      .filter(({ points }) => points > 0)
      .sort((a, b) => b.points - a.points)
      .slice(0, 12);

    list.replaceChildren(...found.map(({ entry }) => resultOf(entry)));
    list.hidden = !words.length;
    if (words.length && !found.length) says("No results contain all of these words.");
  };

  field.addEventListener("focus", show);
  field.addEventListener("input", show);
  form.parentElement.addEventListener("focusout", (event) => {
    if (!form.parentElement.contains(event.relatedTarget)) list.hidden = true;
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    show().then(() => one("a", list)?.focus());
  });
};

// A link to a field unfolds the objects that it is in. Not all browsers do so themselves.
const unfolds = () => {
  const meant = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  let fold = meant?.parentElement.closest("details:not([open])");
  if (!fold) return;
  for (; fold; fold = fold.parentElement.closest("details:not([open])")) fold.open = true;
  meant.scrollIntoView();
};
if (one(".folded")) {
  unfolds();
  addEventListener("hashchange", unfolds);
}

// The open page is in sight in a table of contents that scrolls by itself.
const contents = one(".docs-nav");
const open = contents && one("[aria-current]", contents);
if (open && contents.scrollHeight > contents.clientHeight) {
  contents.scrollTop = open.offsetTop - contents.clientHeight / 2;
}

for (const [selector, does] of [
  ["[data-live]", live],
  ["[data-calculator]", calculates],
  ["[data-search]", searchesDocs],
]) {
  document.querySelectorAll(selector).forEach(does);
}
