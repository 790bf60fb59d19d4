// The side that renders: the helpers, and what surrounds Handlebars' runtime. It
// is called once for a realm, before anybody knows the document; what it returns
// renders those of one account, one after the other.
(function (Handlebars, host, limits) {
  "use strict";
  let strict = false;
  const { SafeString, createFrame } = Handlebars;
  const { isEmpty } = Handlebars.Utils;
  const own = (object, name) => Object.prototype.hasOwnProperty.call(Object(object), name);
  // A number that prints other digits than JavaScript's is a String object: see numeral.go.
  const isNumeral = (value) => value instanceof String;
  const plain = (value) => (isNumeral(value) ? Number(value) : value);
  globalThis.numeral = host.numeral; // for the numbers of templates
  const truthy = (value) => Boolean(plain(value)) && !isEmpty(value);
  const given = (value) => value !== undefined && value !== null;

  // fail ends the render with a fault of the template's, where the helper stands.
  let current = "";
  const fail = (options, message) => {
    host.fail(message, current, (options && options.loc && options.loc.start.line) || 0, (options && options.loc && options.loc.start.column) || 0);
    throw new Error(message);
  };

  // text is what Handlebars would print of a value, not escaped.
  const text = (value) => (given(value) ? String(value) : "");
  const list = (value) => {
    if (!given(value) || value === false || value === "") return [];
    if (Array.isArray(value)) return value;
    return typeof value === "object" && !(value instanceof SafeString) && !isNumeral(value) ? Object.keys(value).map((key) => value[key]) : [value];
  };
  // pick follows a path of own fields.
  const pick = (value, path) => {
    for (const name of String(path).split(".")) {
      if (!given(value)) return undefined;
      value = own(value, name) ? (typeof value === "string" ? value[name] : value[name]) : undefined;
    }
    return value;
  };

  // json is JSON.stringify with the digits of numerals, which are marked until the text is made.
  const marked = new RegExp(`"${host.mark}([^"]*)"`, "g");
  const json = (value, indent) =>
    (JSON.stringify(value === undefined ? null : value, (_, v) => (isNumeral(v) ? host.mark + v : v), indent) || "null").replace(marked, "$1");

  // joined is a join that is bounded before it is made.
  const joined = (name, parts, between) => {
    let length = between.length * parts.length;
    for (let i = 0; i < parts.length; i++) length += parts[i].length;
    if (length > limits.text) host.limit(`${name}: a text of ${length} letters; the limit is ${limits.text}`);
    return parts.join(between);
  };

  // each runs a block once for each item of a list.
  const each = (items, options, self) => {
    if (!items.length) return options.inverse(self);
    let out = "";
    const data = createFrame(options.data);
    items.forEach((item, i) => {
      data.index = data.key = i;
      data.first = i === 0;
      data.last = i === items.length - 1;
      out += options.fn(item, { data, blockParams: [item, i] });
    });
    return out;
  };

  // Values of a call that is about a list: (list), (list "field" …) or (1, 2, 3).
  // Several fields of an item are multiplied.
  const numbers = (args, options) => {
    if (!Array.isArray(args[0])) return args.length === 1 && !given(args[0]) ? [] : args;
    const fields = args.slice(1);
    if (!fields.length) return args[0];
    return args[0].map((item) => {
      const values = fields.map((field) => pick(item, field));
      return values.length === 1 ? values[0] : host.arithmetic("multiply", values, (m) => fail(options, m));
    });
  };
  const arithmetic = (name) => (args, options) => host.arithmetic(name, args, (m) => fail(options, `${name}: ${m}`));
  const overList = (name) => (args, options) => host.arithmetic(name, numbers(args, options), (m) => fail(options, `${name}: ${m}`));
  const compare = (test) => (args) => test(host.compare(args[0], args[1]));
  const whole = (name, what, value, most, options) => {
    const n = Number(value);
    if (!Number.isInteger(n) || n < 0 || n > most) fail(options, `${name}: ${what} must be a whole number from 0 to ${most}; got ${given(value) ? json(value) : "nothing"}`);
    return n;
  };
  const tests = {
    eq: ([a, b]) => host.equal(a, b),
    ne: ([a, b]) => !host.equal(a, b),
    lt: compare((order) => order === -1), lte: compare((order) => order === -1 || order === 0),
    gt: compare((order) => order === 1), gte: compare((order) => order === 1 || order === 0),
  };
  const matches = (item, args, options) => {
    const [field, value] = args;
    const found = pick(item, field);
    if (args.length === 1) return truthy(found);
    const op = options.hash.op || "eq";
    if (!own(tests, op)) fail(options, `where: op must be one of ${Object.keys(tests).join(", ")}; got ${JSON.stringify(op)}`);
    return tests[op]([found, value]);
  };

  // What helpers do: (arguments, options, this) → value. Those of blocks may use
  // options.fn.
  const formats = {};
  for (const name of ["formatDate", "formatNumber", "formatCurrency", "ordinal", "plural"]) {
    formats[name] = (args, options) => host.format(name, args, options.hash, (m) => fail(options, `${name}: ${m}`));
  }
  const values = {
    ...formats,
    add: arithmetic("add"), subtract: arithmetic("subtract"), multiply: arithmetic("multiply"), divide: arithmetic("divide"),
    mod: arithmetic("mod"), round: arithmetic("round"),
    sum: overList("sum"), avg: overList("avg"), min: overList("min"), max: overList("max"),
    count: (args, options) => (args.length > 1 ? list(args[0]).filter((item) => matches(item, args.slice(1), options)).length : list(args[0]).length),
    uppercase: ([value]) => text(value).toUpperCase(),
    lowercase: ([value]) => text(value).toLowerCase(),
    capitalize: ([value]) => {
      const [head = "", ...rest] = Array.from(text(value));
      return head.toUpperCase() + rest.join("");
    },
    truncate: ([value, length, end = "…"], options) => {
      const letters = Array.from(text(value));
      const n = whole("truncate", "the length", length, 1e6, options);
      return letters.length <= n ? text(value) : letters.slice(0, Math.max(0, n - Array.from(text(end)).length)).join("").trimEnd() + text(end);
    },
    replace: ([value, from, to]) => (text(from) === "" ? text(value) : joined("replace", text(value).split(text(from)), text(to))),
    padStart: ([value, length, fill = " "], options) => text(value).padStart(whole("padStart", "the length", length, 1000, options), text(fill)),
    default: (args) => {
      for (const value of args) if (given(value) && value !== "") return value;
      return args.length ? args[args.length - 1] : undefined;
    },
    join: ([items, between = ", "]) => joined("join", list(items).map(text), text(between)),
    split: ([value, at = ","]) => (text(value) === "" ? [] : text(value).split(text(at))),
    length: ([value]) => {
      if (typeof value === "string") return Array.from(value).length;
      return list(value).length;
    },
    first: ([items, n], options) => (given(n) ? list(items).slice(0, whole("first", "the count", n, 1e6, options)) : typeof items === "string" ? Array.from(items)[0] : list(items)[0]),
    last: ([items, n], options) => {
      const all = typeof items === "string" ? Array.from(items) : list(items);
      return given(n) ? all.slice(Math.max(0, all.length - whole("last", "the count", n, 1e6, options))) : all[all.length - 1];
    },
    json: ([value], options) => {
      const indent = options.hash.indent === undefined ? 0 : whole("json", "indent", options.hash.indent, 10, options);
      const escapes = { "<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029" };
      return json(value, indent).replace(/[<>&\u2028\u2029]/g, (c) => escapes[c]);
    },
    markdown: ([value]) => new SafeString(host.markdown(text(value))),
    barcode: ([value, type], options) => {
      const kind = given(type) ? type : options.hash.type === undefined ? "code128" : options.hash.type;
      return text(value) === "" ? "" : new SafeString(host.barcode(text(kind), text(value), options.hash, (m) => fail(options, `barcode: ${m}`)));
    },
    qr: ([value], options) => (text(value) === "" ? "" : new SafeString(host.barcode("qr", text(value), options.hash, (m) => fail(options, `qr: ${m}`)))),
    image: ([value]) => {
      const id = text(value);
      if (id === "" || /^(data:|https?:)/i.test(id)) return id;
      return new SafeString(host.image(id));
    },
    pageBreak: () => new SafeString('<div style="break-after:page"></div>'),
    toc: ([levels], options) => {
      const depth = given(levels) ? Number(levels) : 3;
      if (!(depth >= 1 && depth <= 6 && Number.isInteger(depth))) fail(options, `toc: levels must be a whole number from 1 to 6; got ${json(levels)}`);
      return new SafeString(host.contents(depth));
    },
    range: ([from, to, step], options) => {
      if (!given(to)) [from, to] = [1, from];
      const [a, b, by] = [Number(from), Number(to), given(step) ? Number(step) : Number(from) <= Number(to) ? 1 : -1];
      if (![a, b, by].every(Number.isFinite) || by === 0 || (b - a) / by < 0) fail(options, `range: from, to and step must be numbers that lead from the first to the second; got ${json([from, to, step])}`);
      const n = Math.floor((b - a) / by + 1e-9) + 1;
      if (n > limits.items) host.limit(`range: ${n} numbers; the limit is ${limits.items}`);
      return Array.from({ length: n }, (_, i) => host.arithmetic("add", [a, host.arithmetic("multiply", [i, by])]));
    },
    times: ([n], options) => {
      const many = Number(n || 0);
      if (many > limits.items) host.limit(`times: ${many} rounds; the limit is ${limits.items}`);
      return Array.from({ length: whole("times", "the count", many, limits.items, options) }, (_, i) => i);
    },
    groupBy: ([items, field]) => {
      const groups = new Map();
      for (const item of list(items)) {
        const key = given(field) ? pick(item, field) : item;
        const name = isNumeral(key) ? text(host.arithmetic("add", [key])) : text(key); // 1.10 is 1.1
        if (!groups.has(name)) groups.set(name, { key: given(key) ? key : "", items: [], count: 0 });
        const group = groups.get(name);
        group.items.push(item);
        group.count++;
      }
      return [...groups.values()];
    },
    sortBy: ([items, field, order], options) => {
      const down = (order || options.hash.order) === "desc";
      const keyed = list(items).map((item) => ({ item, key: given(field) && field !== "" ? pick(item, field) : item }));
      // What has no value stands last, in either order.
      keyed.sort((a, b) => {
        if (!given(a.key) || !given(b.key)) return given(b.key) - given(a.key);
        return down ? -host.order(a.key, b.key) : host.order(a.key, b.key);
      });
      return keyed.map((entry) => entry.item);
    },
    where: ([items, ...args], options) => list(items).filter((item) => matches(item, args, options)),
  };
  const choices = {
    ...tests,
    and: (args) => args.reduce((result, value) => (truthy(result) ? value : result), true),
    or: (args) => args.reduce((result, value) => (truthy(result) ? result : value), false),
    not: ([value]) => !truthy(value),
  };
  const iterated = new Set(["times", "range", "groupBy", "sortBy", "where", "split"]);

  // field is the rule of names: a helper that is used without arguments yields
  // the field of its name, where the data has one.
  const field = (name, self, options, helper) => {
    if (own(self, name)) {
      const value = self[name];
      return options.fn ? blockHelperMissing.call(self, value, options) : value;
    }
    return helper;
  };
  const blockHelperMissing = Handlebars.helpers.blockHelperMissing;
  const bare = new Set(["pageBreak", "toc", "each", "if", "unless", "with", "lookup", "log"]); // these say themselves what they lack
  // The helpers as templates are given them: without the wrapper that Handlebars
  // puts around each, which copies the options of every call to add a function
  // that only lookup asks for.
  const direct = Object.create(null);
  const none = {};
  const register = (name, run) => {
    direct[name] = host.helper(name, function (...args) {
      const options = args.pop();
      if (!args.length) {
        const value = field(name, this, options, none);
        if (value !== none) return value;
        if (!bare.has(name)) {
          if (strict) return missing(this, name, options.loc);
          return options.fn ? blockHelperMissing.call(this, undefined, options) : undefined;
        }
      }
      return run.call(this, args, options);
    });
  };
  for (const name of Object.keys(values)) {
    register(name, function (args, options) {
      const value = values[name](args, options);
      if (!options.fn) return value;
      return iterated.has(name) ? each(value, options, this) : blockHelperMissing.call(this, value, options);
    });
  }
  for (const name of Object.keys(choices)) {
    register(name, function (args, options) {
      const value = choices[name](args, options);
      if (!options.fn) return value;
      return truthy(value) ? options.fn(this) : options.inverse(this);
    });
  }
  let property; // how Handlebars reads a field
  for (const name of ["each", "if", "unless", "with", "lookup"]) {
    const original = Handlebars.helpers[name];
    register(name, function (args, options) {
      if (name === "lookup") {
        options.lookupProperty = property;
        if (Array.isArray(args[0]) && args.length > 1) args[1] = plain(args[1]);
      }
      if (args.length && name !== "with" && name !== "lookup") args[0] = plain(args[0]);
      return original.call(this, ...args, options);
    });
  }
  register("log", () => undefined);
  Handlebars.registerHelper("helperMissing", function (...args) {
    const options = args.pop();
    if (args.length) fail(options, host.unknown(options.name));
    return undefined;
  });

  // Every path that the data lacks, for strict. Paths of the data are told by
  // the objects that stand at them.
  let data;
  let places;
  const place = (object) => {
    if (object === null || typeof object !== "object" || isNumeral(object)) return undefined;
    if (!places) {
      places = new Map();
      const visit = (value, path) => {
        if (value === null || typeof value !== "object" || isNumeral(value) || places.has(value)) return;
        places.set(value, path);
        for (const key of Object.keys(value)) visit(value[key], Array.isArray(value) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`);
      };
      visit(data, "");
    }
    return places.get(object);
  };
  let context;
  const missing = (object, name, loc) => {
    const base = place(object);
    host.missing(base === undefined ? "" : base === "" ? String(name) : `${base}.${name}`, place(context) || "", current,
      loc ? loc.start.line : 0, loc ? loc.start.column : 0, loc ? loc.end.line : 0, loc ? loc.end.column : 0);
    return undefined;
  };

  // enter gives a template our helpers, and Go's ways of reading and escaping.
  const escape = host.escaper(Handlebars.escapeExpression);
  const enter = (spec) => ({
    ...spec,
    main(container, depth0, helpers, ...rest) {
      if (!container.reads) container.reads = container.lookupProperty = host.reader(container.lookupProperty);
      property = container.reads;
      container.helpers = direct;
      container.escapeExpression = escape;
      return spec.main.call(this, container, depth0, direct, ...rest);
    },
  });

  // prepare makes a compiled template say which template it is, and with strict
  // collect instead of stop.
  const prepare = (spec, name) => {
    const wrap = (fn) => {
      return function (container, depth0, helpers, partials, data, blockParams, depths) {
        const before = current;
        const above = context;
        current = name;
        context = depth0;
        if (strict) {
          container.strict = (object, key, loc) => (own(object, key) && given(object) ? container.lookup1(object, key) : missing(object, key, loc));
          if (!container.lookup1) {
            container.lookup1 = container.lookupProperty;
            container.lookupProperty = (object, key) => (given(object) ? container.lookup1(object, key) : undefined);
          }
        }
        const out = fn.call(this, container, depth0, helpers, partials, data, blockParams, depths);
        current = before;
        context = above;
        return out;
      };
    };
    const copy = {};
    for (const key of Object.keys(spec)) {
      copy[key] = typeof spec[key] !== "function" ? spec[key] : key.endsWith("_d") ? spec[key] : wrap(spec[key]);
    }
    return enter(copy);
  };

  let compiled = Object.create(null);
  let depth = 0;
  const partial = (name) => (scope, options) => {
    if (++depth > limits.depth) host.limit(`The partial ${JSON.stringify(name)} is nested more than ${limits.depth} deep.`);
    if (!compiled[name]) compiled[name] = Handlebars.template(prepare(host.partial(name), name));
    const out = compiled[name](scope, options);
    depth--;
    return out;
  };

  const fill = (spec, given, partials, collect) => {
    strict = collect;
    data = given;
    for (const name of partials) {
      Object.defineProperty(Handlebars.partials, name, { enumerable: true, configurable: true, writable: true, value: partial(name) });
    }
    return Handlebars.template(strict || partials.length ? prepare(spec, "") : enter(spec))(data, {});
  };
  // empty leaves nothing of a document that was rendered to its end.
  const empty = () => {
    data = places = context = property = undefined;
    current = "";
    depth = 0;
    compiled = Object.create(null);
    for (const name of Object.keys(Handlebars.partials)) delete Handlebars.partials[name];
  };
  return { fill, empty };
})
