/** Changes of shared values. A value that another process changed meanwhile is read again, and changed again. */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Cells, OperatorAct } from './ports.ts';

/** What a change needs of the store. */
export type Swapped = Pick<Cells, 'get' | 'swap'>;

/** Replaces a value: `change` gets the current value, and returns the new one and a result. It may be called several times. */
export async function update<T>(
  cells: Swapped,
  key: string,
  change: (value: Json) => readonly [value: Json, result: T],
): Promise<T> {
  for (;;) {
    const { value, version } = await cells.get(key);
    const [next, result] = change(value);
    if (next === value || (await cells.swap(key, version, next))) return result;
  }
}

/** Records an act of an operator together with the change that it makes. */
export async function operate(
  cells: Swapped,
  { key, ...act }: Omit<OperatorAct, 'link'>,
  change: (value: Json) => Json,
): Promise<void> {
  for (;;) {
    const { value, version } = await cells.get(key);
    if (await cells.swap(key, version, change(value), act)) return;
  }
}

/** The value of a key; null without one. */
export async function valueAt(cells: Pick<Cells, 'get'>, key: string): Promise<Json> {
  return (await cells.get(key)).value;
}
