/** What a run has really done, as a sentence beside the words of its agents. */
import type { Receipt } from '../ports/types.ts';

const CHANGING: ReadonlySet<string> = new Set(['write', 'financial', 'communication', 'infrastructure']);

/** The receipt is of a call that changes something. */
export function changes({ effect }: Pick<Receipt, 'effect'>): boolean {
  return CHANGING.has(effect);
}

/** The same with the calls that stay, in one line. */
export function doneLine(receipts: readonly Pick<Receipt, 'effect' | 'status' | 'tool'>[]): string {
  const made = receipts.filter((each) => changes(each) && each.status === 'committed').map(({ tool }) => tool);
  const counts = [...Map.groupBy(made, (tool) => tool)].map(([tool, { length }]) =>
    length === 1 ? tool : `${tool} (${length} times)`,
  );
  const sentence = doneText(receipts);
  return [...(counts.length === 0 ? [] : [`${counts.join(', ')}.`]), ...(sentence === null ? [] : [sentence])].join(
    ' ',
  );
}

/** Null if the receipts themselves say what was changed. */
export function doneText(receipts: readonly Pick<Receipt, 'effect' | 'status' | 'tool'>[]): string | null {
  const all = receipts.filter(changes);
  const unknown = all.filter(({ status }) => status === 'unknown');
  if (all.length === 0) return 'Nothing was changed.';
  if (unknown.length > 0) {
    const tools = [...new Set(unknown.map(({ tool }) => tool))];
    return `It is not known whether ${tools.join(' and ')} happened.`;
  }
  return all.every(({ status }) => status === 'compensated') ? 'Everything was undone.' : null;
}
