// JSON as text, in which numbers keep every digit. The input is valid.

const tokens = (text) => text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g);

// indent writes each member on a line of its own, as JSON.stringify does.
export const indent = (text) => {
  let result = "";
  let depth = 0;
  let previous = "";
  const newLine = () => {
    result += "\n" + "  ".repeat(depth);
  };

  for (const [token] of tokens(text)) {
    const isFirst = previous === "{" || previous === "[";
    if (token === "}" || token === "]") {
      depth--;
      if (!isFirst) newLine();
    } else if (isFirst || previous === ",") {
      newLine();
    }

    if (token === "{" || token === "[") depth++;
    result += token === ":" ? ": " : token;
    previous = token;
  }

  return result;
};

// members returns the texts of an object's members by their names.
export const members = (text) => {
  const result = {};
  let depth = 0;
  let name = "";
  let start = -1;
  for (const { 0: token, index } of tokens(text)) {
    if (token === "}" || token === "]") depth--;

    if (start >= 0 && (depth === 0 || (depth === 1 && token === ","))) {
      result[name] = text.slice(start, index).trim();
      start = -1;
    } else if (depth === 1 && start < 0 && token.startsWith('"')) {
      name = JSON.parse(token);
    } else if (depth === 1 && start < 0 && token === ":") {
      start = index + 1;
    }

    if (token === "{" || token === "[") depth++;
  }

  return result;
};
