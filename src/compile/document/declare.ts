/**
 * The ids that a list declares, straight from the text: a declaration counts even where the rest of it is faulty, so that
 * references to it stay good. Ids that are used twice, or that mean something by themselves, are reported here.
 */
import type { Report } from '../diagnose/diagnostics.ts';
import { childOf, itemsOf, textOf, type Located } from '../source/located.ts';
import type { Range } from '../source/range.ts';

export interface DeclareOptions {
  /** What one is called in a message, such as `flow node`. */
  readonly what: string;
  /** The key that holds the id; `id` unless told. */
  readonly key?: string;
  /** Ids that cannot be used, each with the reason. */
  readonly reserved?: { readonly [id: string]: string };
}

export function declareIds(
  list: Located | undefined,
  report: Report,
  options: DeclareOptions,
): ReadonlyMap<string, Range> {
  const declared = new Map<string, Range>();
  for (const item of itemsOf(list)) {
    const located = childOf(item, options.key ?? 'id');
    const id = textOf(located);
    if (located === undefined || id === undefined || id === '') continue;
    const first = declared.get(id);
    if (first !== undefined) {
      report.error('duplicate-id', located, `the id \`${id}\` is used by two ${options.what}s`, {
        help: 'Rename one of them.',
        related: [{ message: 'the first one is here', at: first }],
      });
      continue;
    }
    declared.set(id, located.range);
    const reason =
      options.reserved !== undefined && Object.hasOwn(options.reserved, id) ? options.reserved[id] : undefined;
    if (reason !== undefined)
      report.error(
        'reserved-id',
        located,
        `\`${id}\` cannot be the id of ${/^[aeiou]/.test(options.what) ? 'an' : 'a'} ${options.what}: ${reason}`,
        {
          help: 'Choose another id.',
        },
      );
  }
  return declared;
}
