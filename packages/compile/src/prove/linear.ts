/** Maximises a sum under linear limits, by the simplex method. All limits are of the form `sum <= limit` with `limit >= 0`. */

/** A row: coefficients by variable, and the limit. Variables are numbered from 0 and never negative. */
export interface Row {
  readonly terms: ReadonlyMap<number, number>;
  readonly limit: number;
}

const ZERO = 1e-9;

/** The coefficients of all rows, one row after another. The last column is the limit, and the last row is the objective. */
interface Table {
  readonly cells: Float64Array;
  readonly width: number;
  readonly rows: number;
}

/** The highest value of the objective. Infinite if the rows do not limit it. */
export function maximise(objective: ReadonlyMap<number, number>, rows: readonly Row[], variables: number): number {
  const table = tableOf(objective, rows, variables);
  const { cells } = table;
  const total = cells.length - 1;
  // After a pivot, a column belongs to the variable that left the basis. Its number decides ties, so that no basis occurs twice.
  const columns = Array.from({ length: variables }, (_, index) => index);
  const basis = rows.map((_, index) => variables + index);
  for (let idle = 0; ;) {
    const column = entering(table, columns, idle > rows.length);
    if (column === null) return cells[total] as number;
    const row = leaving(table, basis, column);
    if (row === null) return Infinity;
    const before = cells[total] as number;
    pivot(table, row, column);
    [columns[column], basis[row]] = [basis[row] as number, columns[column] as number];
    idle = (cells[total] as number) > before + ZERO ? 0 : idle + 1;
  }
}

function tableOf(objective: ReadonlyMap<number, number>, rows: readonly Row[], variables: number): Table {
  const width = variables + 1;
  const cells = new Float64Array(width * (rows.length + 1));
  let start = 0;
  for (const { terms, limit } of rows) {
    for (const [variable, factor] of terms) cells[start + variable] = factor;
    cells[start + variables] = limit;
    start += width;
  }
  for (const [variable, factor] of objective) cells[start + variable] = -factor;
  return { cells, width, rows: rows.length };
}

/** The column with the best gain; after many steps without gain, the first one, which always comes to an end. */
function entering({ cells, width, rows }: Table, columns: readonly number[], first: boolean): number | null {
  const goal = rows * width;
  let best: number | null = null;
  for (let column = 0; column < columns.length; column++) {
    const gain = cells[goal + column] as number;
    if (gain >= -ZERO) continue;
    if (best === null) best = column;
    else if (first ? (columns[column] as number) < (columns[best] as number) : gain < (cells[goal + best] as number))
      best = column;
  }
  return best;
}

function leaving({ cells, width, rows }: Table, basis: readonly number[], column: number): number | null {
  let [best, least] = [-1, Infinity];
  for (let index = 0; index < rows; index++) {
    const factor = cells[index * width + column] as number;
    if (factor <= ZERO) continue;
    const ratio = (cells[(index + 1) * width - 1] as number) / factor;
    if (ratio > least + ZERO) continue;
    if (best >= 0 && ratio > least - ZERO && (basis[index] as number) > (basis[best] as number)) continue;
    [best, least] = [index, Math.min(least, ratio)];
  }
  return best < 0 ? null : best;
}

/** Exchanges the variable of the column with that of the row. */
function pivot({ cells, width, rows }: Table, at: number, column: number): void {
  const chosen = at * width;
  const factor = cells[chosen + column] as number;
  // Most entries are zero: a node has few neighbours.
  const used: number[] = [];
  for (let index = 0; index < width; index++) {
    if (cells[chosen + index] === 0) continue;
    cells[chosen + index] = (cells[chosen + index] as number) / factor;
    used.push(index);
  }
  cells[chosen + column] = 1 / factor;
  for (let row = 0; row <= rows; row++) {
    const start = row * width;
    const times = row === at ? 0 : (cells[start + column] as number);
    if (times === 0) continue;
    cells[start + column] = 0;
    for (const index of used)
      cells[start + index] = (cells[start + index] as number) - times * (cells[chosen + index] as number);
  }
}
