// Stands in for elkjs, which is not embedded: diagrams that ask for its layouts say so.
export default class ELK {
  constructor() { throw new Error('the layout "elk" is not there; take "dagre", the default'); }
}
