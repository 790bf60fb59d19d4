/** A list. Awaiting it gives its first page; iterating over it gives the entries of all pages. */
export class Pages<Page, Entry> implements PromiseLike<Page>, AsyncIterable<Entry> {
  readonly #load: (cursor?: string) => Promise<Page>;
  readonly #entries: (page: Page) => Entry[];
  #first?: Promise<Page>;

  constructor(load: (cursor?: string) => Promise<Page>, entries: (page: Page) => Entry[]) {
    this.#load = load;
    this.#entries = entries;
  }

  then<A = Page, B = never>(
    done?: ((page: Page) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#firstPage().then(done, failed);
  }

  /** Iterates over pages instead of entries. */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    let page = await this.#firstPage();
    for (;;) {
      yield page;
      const { nextCursor } = page as { nextCursor?: string | null };
      if (!nextCursor) return;
      page = await this.#load(nextCursor);
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Entry, void, undefined> {
    for await (const page of this.pages()) yield* this.#entries(page);
  }

  #firstPage(): Promise<Page> {
    return (this.#first ??= this.#load());
  }
}
