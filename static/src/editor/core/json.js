// JSON as text, in which numbers keep every digit. What is given is valid.

const tokens = (text) => text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g);

// indent writes each member on a line of its own, as JSON.stringify does.
export const indent = (text) => {
  let out = "";
  let depth = 0;
  let before = "";
  const line = () => {
    out += "\n" + "  ".repeat(depth);
  };

  for (const [token] of tokens(text)) {
    const opens = before === "{" || before === "[";
    if (token === "}" || token === "]") {
      depth--;
      if (!opens) line();
    } else if (opens || before === ",") {
      line();
    }

    if (token === "{" || token === "[") depth++;
    out += token === ":" ? ": " : token;
    before = token;
  }

  return out;
};

// members returns the texts of an object's members by their names.
export const members = (text) => {
  const found = {};
  let depth = 0;
  let name = "";
  let from = -1;
  for (const { 0: token, index } of tokens(text)) {
    if (token === "}" || token === "]") depth--;

    if (from >= 0 && (depth === 0 || (depth === 1 && token === ","))) {
      found[name] = text.slice(from, index).trim();
      from = -1;
    } else if (depth === 1 && from < 0 && token.startsWith('"')) {
      name = JSON.parse(token);
    } else if (depth === 1 && from < 0 && token === ":") {
      from = index + 1;
    }

    if (token === "{" || token === "[") depth++;
  }

  return found;
};
