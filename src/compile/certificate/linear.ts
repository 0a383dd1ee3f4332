/** Maximises a sum under linear limits, by the simplex method. All limits are of the form `sum <= limit` with `limit >= 0`. */

/** A row: coefficients by variable, and the limit. Variables are numbered from 0 and never negative. */
export interface Row {
  readonly terms: ReadonlyMap<number, number>;
  readonly limit: number;
}

const ZERO = 1e-9;

/** The highest value of the objective. Infinite if the rows do not limit it. */
export function maximise(objective: ReadonlyMap<number, number>, rows: readonly Row[], variables: number): number {
  const width = variables + 1;
  const table = rows.map(({ terms, limit }) => {
    const row = new Float64Array(width);
    for (const [variable, factor] of terms) row[variable] = factor;
    row[variables] = limit;
    return row;
  });
  const goal = new Float64Array(width);
  for (const [variable, factor] of objective) goal[variable] = -factor;
  // After a pivot, a column stands for the variable that left. Its number decides among equals, so that no basis comes twice.
  const columns = Array.from({ length: variables }, (_, index) => index);
  const basis = rows.map((_, index) => variables + index);
  for (let idle = 0; ;) {
    const column = entering(goal, columns, idle > rows.length);
    if (column === null) return goal[variables] as number;
    const row = leaving(table, basis, column, variables);
    if (row === null) return Infinity;
    const before = goal[variables] as number;
    pivot(table, goal, row, column);
    [columns[column], basis[row]] = [basis[row] as number, columns[column] as number];
    idle = (goal[variables] as number) > before + ZERO ? 0 : idle + 1;
  }
}

/** The column with the best gain; after many steps without gain, the first one, which always comes to an end. */
function entering(goal: Float64Array, columns: readonly number[], first: boolean): number | null {
  let best: number | null = null;
  for (let column = 0; column < columns.length; column++) {
    const gain = goal[column] as number;
    if (gain >= -ZERO) continue;
    if (best === null) best = column;
    else if (first ? (columns[column] as number) < (columns[best] as number) : gain < (goal[best] as number))
      best = column;
  }
  return best;
}

function leaving(
  table: readonly Float64Array[],
  basis: readonly number[],
  column: number,
  limit: number,
): number | null {
  let [best, least] = [-1, Infinity];
  for (let index = 0; index < table.length; index++) {
    const row = table[index] as Float64Array;
    const factor = row[column] as number;
    if (factor <= ZERO) continue;
    const ratio = (row[limit] as number) / factor;
    if (ratio > least + ZERO) continue;
    if (best >= 0 && ratio > least - ZERO && (basis[index] as number) > (basis[best] as number)) continue;
    [best, least] = [index, Math.min(least, ratio)];
  }
  return best < 0 ? null : best;
}

/** Exchanges the variable of the column with that of the row. */
function pivot(table: readonly Float64Array[], goal: Float64Array, at: number, column: number): void {
  const chosen = table[at] as Float64Array;
  const factor = chosen[column] as number;
  // Most entries are zero: a node has few neighbours.
  const used: number[] = [];
  for (let index = 0; index < chosen.length; index++) {
    if (chosen[index] === 0) continue;
    chosen[index] = (chosen[index] as number) / factor;
    used.push(index);
  }
  chosen[column] = 1 / factor;
  for (const row of table) if (row !== chosen) subtract(row, chosen, column, used);
  subtract(goal, chosen, column, used);
}

function subtract(row: Float64Array, chosen: Float64Array, column: number, used: readonly number[]): void {
  const times = row[column] as number;
  if (times === 0) return;
  row[column] = 0;
  for (const index of used) row[index] = (row[index] as number) - times * (chosen[index] as number);
}
