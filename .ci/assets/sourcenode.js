// What Handlebars' compiler uses of the package source-map, without the maps:
// pieces of source in a tree, joined once at the end. Handlebars' own fallback
// appends to a growing string, which takes quadratic time in goja.
export class SourceNode {
  constructor(line, column, file, chunks) {
    this.children = [];
    if (chunks != null) this.add(chunks);
  }
  add(chunk) {
    if (Array.isArray(chunk)) for (let i = 0; i < chunk.length; i++) this.add(chunk[i]);
    else if (chunk instanceof SourceNode || chunk) this.children.push(chunk);
    return this;
  }
  prepend(chunk) {
    if (Array.isArray(chunk)) for (let i = chunk.length - 1; i >= 0; i--) this.prepend(chunk[i]);
    else this.children.unshift(chunk);
    return this;
  }
  collect(into) {
    for (let i = 0; i < this.children.length; i++) {
      const piece = this.children[i];
      if (piece instanceof SourceNode) piece.collect(into);
      else if (piece !== "") into.push(piece);
    }
    return into;
  }
  toString() {
    return this.collect([]).join("");
  }
  toStringWithSourceMap() {
    return { code: this.toString() };
  }
}
