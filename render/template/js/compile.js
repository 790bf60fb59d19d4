// The compiler's side: parses and compiles templates that it never runs. It is
// called with Handlebars and the lexer of Go, in a realm of its own.
(function (Handlebars, tokenize) {
  "use strict";
  const parser = Handlebars.Parser;

  // A number of the template is compiled to its digits, which the parser does not keep.
  let numbers = new Map();
  const written = new WeakMap(); // of trees
  Handlebars.Compiler.prototype.NumberLiteral = function ({ value, loc }) {
    const text = numbers.get(`${loc.start.line}:${loc.start.column}`) ?? String(value);
    this.opcode("pushLiteral", text === String(value) ? value : `numeral(${JSON.stringify(text)})`);
  };

  // What the parser asks of a lexer.
  parser.lexer = {
    options: {},
    setInput(source) {
      const [kinds, texts, places] = tokenize(source);
      Object.assign(this, { kinds, texts, places, at: 0, yytext: "", yyleng: 0, yylineno: 0, match: "" });
      this.yylloc = { first_line: 1, first_column: 0, last_line: 1, last_column: 0 };
    },
    lex() {
      const i = this.at++;
      this.yytext = this.match = this.texts[i];
      this.yyleng = this.yytext.length;
      if (this.kinds[i] === parser.symbols_.NUMBER) numbers.set(`${this.places[4 * i]}:${this.places[4 * i + 1]}`, this.yytext);
      this.yylineno = this.places[4 * i + 2] - 1;
      this.yylloc = {
        first_line: this.places[4 * i], first_column: this.places[4 * i + 1],
        last_line: this.places[4 * i + 2], last_column: this.places[4 * i + 3],
      };
      const kind = this.kinds[i];
      return kind < 0 ? "INVALID" : kind;
    },
  };

  class SyntaxFault extends Error {}
  parser.parseError = (text, hash) => {
    const fault = new SyntaxFault(text);
    const at = parser.lexer.yylloc;
    Object.assign(fault, { line: at.first_line, column: at.first_column, got: hash.token, text: hash.text, expected: hash.expected });
    throw fault;
  };

  // fault describes what Handlebars threw about a template.
  const fault = (e) => {
    const message = String(e && e.message).replace(/ - \d+:\d+$/, "");
    return {
      message, line: e.line || e.lineNumber || 0, column: e.column || 0,
      got: e.got === undefined ? "" : String(e.got), text: e.text || "",
      expected: (e.expected || []).map((name) => name.replace(/^'|'$/g, "")),
      syntax: e instanceof SyntaxFault,
    };
  };

  // Where a missing argument of a helper is no fault: what asks whether a value
  // is there, and blocks that say what to do without it.
  const lenient = new Set(["if", "unless", "default", "and", "or", "not", "eq", "ne", "log", "lookup"]);

  // demand makes strict also the arguments of helpers, which Handlebars itself
  // lets be missing.
  const demand = (node, strict) => {
    if (!node || typeof node !== "object") return;
    if (Array.isArray(node)) return node.forEach((n) => demand(n, strict));
    switch (node.type) {
      case "PathExpression":
        if (strict && node.parts.length && !(node.data && node.parts[0] !== "root")) node.strict = true;
        return;
      case "MustacheStatement": case "SubExpression": case "BlockStatement": case "Decorator": case "DecoratorBlock": {
        const name = node.path && node.path.original;
        const asks = lenient.has(name) || ((name === "each" || name === "with") && node.inverse);
        demand(node.params, !asks);
        demand(node.hash, !asks);
        if (node.path && node.path.type === "SubExpression") demand(node.path, strict);
        return demand([node.program, node.inverse], strict);
      }
      case "PartialStatement": case "PartialBlockStatement":
        if (node.name.type === "SubExpression") demand(node.name, true);
        demand(node.params, true);
        demand(node.hash, true);
        return demand(node.program, strict);
      case "Hash": return node.pairs.forEach((pair) => demand(pair.value, strict));
      case "Program": return demand(node.body, strict);
    }
  };

  // A name with an @ is never that of a helper, which Handlebars does not know:
  // there {{@first}} would be the helper first, if there is one.
  const dataOnly = (node) => {
    if (!node || typeof node !== "object") return;
    if (Array.isArray(node)) return node.forEach(dataOnly);
    if ((node.type === "MustacheStatement" || node.type === "BlockStatement") && node.path.data && !node.params.length && !node.hash) {
      node.path.original = "this." + node.path.original;
    }
    dataOnly(node.body);
    dataOnly(node.program);
    dataOnly(node.inverse);
  };

  return {
    // parse returns the tree, or the fault that keeps it from being one.
    parse(source) {
      try {
        numbers = new Map();
        const tree = Handlebars.parse(source);
        written.set(tree, numbers);
        return { tree };
      } catch (e) {
        return { fault: fault(e) };
      }
    },
    compile(tree, strict) {
      try {
        if (strict) demand(tree, true);
        dataOnly(tree);
        numbers = written.get(tree);
        return { code: Handlebars.precompile(tree, { strict }) };
      } catch (e) {
        return { fault: fault(e) };
      }
    },
  };
})
