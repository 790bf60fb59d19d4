// Returns a function that says what a tree uses: helpers and partials with
// their places, and the variables as paths from the root. partialTree(name) gives
// the tree of a partial, and isHelper(name) knows the helpers.
(function (partialTree, isHelper) {
  "use strict";
  // A value that an expression may have: {path} is a path into the data, {each}
  // a group of groupBy, {} is unknown.
  const unknown = {};
  const lists = new Set(["sortBy", "where"]);
  const enter = (value) => (value.path === undefined ? value.group ? { group: value.group } : unknown : { path: value.path + "[]" });

  return (tree) => {
    const uses = { helpers: [], partials: [], variables: [] };
    const seen = new Set();
    const visited = new Set();
    const place = (node) => ({ line: node.loc.start.line, column: node.loc.start.column });

    const record = (path) => {
      if (path !== undefined && path !== "" && !seen.has(path)) {
        seen.add(path);
        uses.variables.push(path);
      }
    };
    const join = (base, parts) => parts.reduce((path, part) => (path === "" ? part : path + "." + part), base);

    // member returns the value of parts below a value, and records it.
    const member = (value, parts, note) => {
      if (value.group && parts.length && parts[0] === "items") {
        return parts.length === 1 ? { path: value.group } : unknown;
      }
      if (value.path === undefined) return unknown;
      const path = join(value.path, parts);
      if (note && parts.length) record(path);
      return { path };
    };

    // look returns the value of an expression in a scope.
    const look = (node, scope, note = true) => {
      if (node.type === "SubExpression") return call(node, scope);
      if (node.type !== "PathExpression") return unknown;
      const parts = node.parts;
      if (node.data) return parts[0] === "root" ? member(scope.root, parts.slice(1), note) : unknown;
      if (!node.depth && parts.length && scope.names && Object.prototype.hasOwnProperty.call(scope.names, parts[0]) && !/^(this|\.)/.test(node.original)) {
        return member(scope.names[parts[0]], parts.slice(1), note);
      }
      let context = scope;
      for (let i = 0; i < node.depth; i++) context = context && context.parent;
      return context ? member(context.value, parts, note) : unknown;
    };

    const args = (node, scope) => {
      const values = node.params.map((p) => look(p, scope));
      if (node.hash) node.hash.pairs.forEach((pair) => look(pair.value, scope));
      return values;
    };

    // call notes a helper and returns what it yields.
    const call = (node, scope) => {
      const name = node.path.original;
      uses.helpers.push({ name: String(name), ...place(node.path) });
      const values = args(node, scope);
      const first = values[0] || unknown;
      if (lists.has(name)) return first;
      if (name === "first" || name === "last") return node.params.length === 1 ? enter(first) : unknown;
      if (name === "groupBy") return first.path === undefined ? unknown : { path: undefined, groups: first.path };
      if (name === "lookup" || name === "default") return name === "default" ? first : unknown;
      return unknown;
    };

    const inside = (scope, value, names) => ({ value, names: { ...scope.names, ...names }, parent: scope, root: scope.root });

    const block = (node, scope) => {
      const path = node.path;
      const name = path.original;
      const params = (node.program && node.program.blockParams) || [];
      const isHelper = node.params.length || node.hash || node.type === "helper";
      let body = scope;
      if (name === "each" || name === "with") {
        uses.helpers.push({ name, ...place(path) });
        const value = args(node, scope)[0] || unknown;
        let entered = value;
        if (name === "each") entered = value.groups !== undefined ? { group: value.groups } : enter(value);
        const names = {};
        if (params[0] !== undefined) names[params[0]] = entered;
        if (params[1] !== undefined) names[params[1]] = unknown;
        body = inside(scope, entered, names);
      } else if (isHelper) {
        call(node, scope);
        const names = {};
        params.forEach((p) => (names[p] = unknown));
        if (name === "times" || name === "range") body = inside(scope, unknown, names);
        else if (params.length) body = { ...scope, names: { ...scope.names, ...names } };
      } else if (!["if", "unless"].includes(name)) {
        body = inside(scope, look(path, scope), {});
      }
      walk(node.program, body);
      walk(node.inverse, scope);
    };

    const partial = (node, scope, inline) => {
      let name;
      if (node.name.type === "SubExpression") call(node.name, scope);
      else name = String(node.name.original);
      const values = args(node, scope);
      let value = values.length ? values[0] : scope.value;
      const given = {};
      if (node.hash) node.hash.pairs.forEach((pair) => (given[pair.key] = look(pair.value, scope, false)));
      walk(node.program, scope);
      if (name === undefined) {
        uses.partials.push({ name: "", dynamic: true, ...place(node) });
        return;
      }
      if (name === "@partial-block" || inline.has(name)) return;
      uses.partials.push({ name, block: node.type === "PartialBlockStatement", ...place(node) });
      const at = name + "\0" + (value.path === undefined ? "?" : value.path);
      if (visited.has(at) || visited.size > 1000) return;
      visited.add(at);
      const other = partialTree(name);
      if (other) walk(other, { value, names: given, parent: scope.parent, root: scope.root });
    };

    const inlines = new Set();
    const walk = (node, scope) => {
      if (!node) return;
      switch (node.type) {
        case "Program": node.body.forEach((n) => walk(n, scope)); return;
        case "BlockStatement": return block(node, scope);
        case "PartialStatement": case "PartialBlockStatement": return partial(node, scope, inlines);
        case "DecoratorBlock":
          if (node.path.original === "inline" && node.params.length) inlines.add(String(node.params[0].value));
          else uses.helpers.push({ name: "*" + node.path.original, ...place(node.path) });
          return walk(node.program, scope);
        case "Decorator":
          uses.helpers.push({ name: "*" + node.path.original, ...place(node.path) });
          return void args(node, scope);
        case "MustacheStatement":
          if (node.path.type === "SubExpression") return void call(node.path, scope);
          if (node.params.length || node.hash) return void call(node, scope);
          if (node.path.type === "PathExpression") {
            // A helper without arguments, unless the data has a field of its name.
            const simple = node.path.parts.length === 1 && !node.path.depth && !node.path.data;
            if (simple) uses.helpers.push({ name: node.path.parts[0], bare: true, ...place(node.path) });
            const local = simple && scope.names && Object.prototype.hasOwnProperty.call(scope.names, node.path.parts[0]);
            if (!simple || local || !isHelper(node.path.parts[0])) look(node.path, scope);
          }
      }
    };
    // Inline partials are known wherever they are defined.
    const collect = (node) => {
      if (!node) return;
      if (node.type === "DecoratorBlock" && node.path.original === "inline" && node.params.length) inlines.add(String(node.params[0].value));
      if (node.body) node.body.forEach(collect);
      collect(node.program);
      collect(node.inverse);
    };
    collect(tree);
    const root = { path: "" };
    walk(tree, { value: root, names: {}, parent: null, root });
    return uses;
  };
})
