/** A priority queue: the smallest key first. */
export class Heap<Item> {
  readonly #items: { readonly key: number; readonly item: Item }[] = [];

  push(key: number, item: Item): void {
    const items = this.#items;
    let at = items.length;
    items.push({ key, item });
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((items[parent]?.key ?? 0) <= key) break;
      this.#swap(at, parent);
      at = parent;
    }
  }

  pop(): { readonly key: number; readonly item: Item } | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (top === undefined || last === undefined || items.length === 0) return top;
    items[0] = last;
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      if (left < items.length && this.#key(left) < this.#key(least)) least = left;
      if (right < items.length && this.#key(right) < this.#key(least)) least = right;
      if (least === at) return top;
      this.#swap(at, least);
      at = least;
    }
  }

  #key(at: number): number {
    return this.#items[at]?.key ?? Infinity;
  }

  #swap(a: number, b: number): void {
    const items = this.#items;
    [items[a], items[b]] = [items[b] as (typeof items)[number], items[a] as (typeof items)[number]];
  }
}
