/** A small terminal for tests: keeps the lines that a person would see, by the control sequences that we write. */
export class TestScreen {
  readonly #columns: number;
  readonly #rows: string[][] = [[]];
  #row = 0;
  #column = 0;

  constructor(columns: number) {
    this.#columns = columns;
  }

  write(text: string): void {
    for (let rest = text; rest !== '';) {
      const control = /^\u001B\[\??([\d;]*)([A-Za-z])/.exec(rest);
      if (control === null) this.#put(rest[0] as string);
      else this.#control(control[2] as string, Number(control[1] || 1));
      rest = rest.slice(control?.[0].length ?? 1);
    }
  }

  lines(): readonly string[] {
    return this.#rows.map((row) => row.join('').trimEnd());
  }

  #put(character: string): void {
    if (character === '\r') this.#column = 0;
    else if (character === '\n') this.#row += 1;
    else if (character >= ' ') {
      if (this.#column >= this.#columns) {
        this.#row += 1;
        this.#column = 0;
      }
      const line = this.#line();
      while (line.length < this.#column) line.push(' ');
      line[this.#column] = character;
      this.#column += 1;
    }
    this.#line();
  }

  #control(kind: string, amount: number): void {
    if (kind === 'A') this.#row = Math.max(0, this.#row - amount);
    else if (kind === 'B') this.#row += amount;
    else if (kind === 'C') this.#column += amount;
    else if (kind === 'D') this.#column = Math.max(0, this.#column - amount);
    else if (kind === 'G') this.#column = amount - 1;
    else if (kind === 'K' || kind === 'J') this.#line().length = Math.min(this.#line().length, this.#column);
    if (kind === 'J') this.#rows.length = this.#row + 1;
    this.#line();
  }

  #line(): string[] {
    while (this.#rows.length <= this.#row) this.#rows.push([]);
    return this.#rows[this.#row] as string[];
  }
}
