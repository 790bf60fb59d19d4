// Fills templates with the npm package, for comparison: reads a JSON array of
// {template, data, partials, strict, parse}, and writes one of {out} or {error}, or
// with parse of {tree}.
const Handlebars = require("handlebars");
let text = "";
process.stdin.on("data", (part) => (text += part)).on("end", () => {
  const answers = JSON.parse(text).map((item) => {
    try {
      if (item.parse) return { out: JSON.stringify(Handlebars.parse(item.template)) };
      const own = Handlebars.create();
      own.log = () => {};
      for (const [name, source] of Object.entries(item.partials || {})) own.registerPartial(name, source);
      return { out: own.compile(item.template, { strict: Boolean(item.strict) })(item.data) };
    } catch (e) {
      return { error: String(e.message) };
    }
  });
  process.stdout.write(JSON.stringify(answers));
});
