/**
 * Cases of truth: what a run must say of itself, written from the specification alone, before the code that they judge.
 *
 * A file of cases has `desks` (optional) and `cases`. A desk is one document for each notation; a case names a desk and is run in
 * each notation of `in` (all five by default). `expect` holds everywhere, `expect_in` only in the notation that it names.
 * `pending.yaml` lists the cases that do not hold yet, each with the row of the specification that it waits for.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Script } from '@sluice-internal/library/host';

const NOTATIONS = ['loop', 'flow', 'steps', 'staged', 'team'] as const;
type Notation = (typeof NOTATIONS)[number];
type Document = { readonly [key: string]: unknown };
type Desk = { readonly [notation in Notation]?: Document };

/** What a tool of the world does with a call. The entries of a list are used in order, and the last one repeats. */
export interface Deed {
  readonly result?: Json;
  /** `timeout`: the call was sent and nobody knows what became of it. */
  readonly error?: 'transient' | 'timeout' | 'rate_limit' | 'fatal';
  readonly message?: string;
  /** Milliseconds of virtual time until the answer. */
  readonly delayMs?: number;
  /** Never answers. */
  readonly hangs?: boolean;
  /** The process dies while the call is under way. */
  readonly crashes?: boolean;
  /** A person cancels the run while the call is under way. */
  readonly cancels?: boolean;
}

export interface Given {
  readonly choice: string;
  readonly text?: string;
  readonly edit?: Json;
  /** Seconds after which the person answers. */
  readonly after?: number;
  /** The tool or the node that is asked about. Default: the first open question. */
  readonly about?: string;
}

interface Written<Expected> {
  readonly id: string;
  /** The rows of decisions.md, or the section of truth.md. */
  readonly row: number | string | readonly (number | string)[];
  /** What happens, for readers. */
  readonly story: string;
  readonly desk: string;
  readonly in?: readonly Notation[];
  /** More keys of the document. */
  readonly with?: Document;
  readonly with_in?: Desk;
  readonly input?: Json;
  readonly user?: string;
  readonly script?: Script;
  readonly script_in?: { readonly [notation in Notation]?: Script };
  readonly world?: { readonly [tool: string]: Deed | readonly Deed[] };
  /** Given one after another, while the run waits. */
  readonly answers?: readonly Given[];
  /** Cancelled when it waits and no answer is left. */
  readonly cancel?: boolean;
  /** Seconds for which nobody works on the run after a crash. */
  readonly down?: number;
  readonly expect: Expected;
  readonly expect_in?: { readonly [notation in Notation]?: Partial<Expected> };
}

/** A case in one notation. */
export interface Case<Expected> extends Omit<Written<Expected>, 'desk' | 'in' | 'with' | 'with_in'> {
  readonly notation: Notation;
  readonly document: Document;
  readonly script: Script;
}

interface File<Expected> {
  readonly desks?: { readonly [name: string]: Desk };
  readonly cases?: readonly Written<Expected>[];
}

const FOLDER = import.meta.dirname;
const shared = read('desks.yaml') as {
  readonly desks: { readonly [name: string]: Desk };
  readonly scripts: { readonly [notation: string]: Script };
};
const pending = (read('pending.yaml') ?? {}) as { readonly [id: string]: string | number };

/** Every case of a file, in each of its notations. */
export function casesOf<Expected extends object>(file: string): readonly Case<Expected>[] {
  const { desks = {}, cases = [] } = read(file) as File<Expected>;
  return cases.flatMap((written) => {
    const { desk, in: named, with: more = {}, with_in: moreIn = {}, ...rest } = written;
    const documents = desks[desk] ?? shared.desks[desk];
    if (documents === undefined) throw new Error(`${written.id}: there is no desk \`${desk}\``);
    const notations = named ?? NOTATIONS.filter((notation) => documents[notation] !== undefined);
    return notations.map((notation) => {
      const document = documents[notation];
      if (document === undefined) throw new Error(`${written.id}: \`${desk}\` has no ${notation}`);
      const script = [shared.scripts[notation], written.script, written.script_in?.[notation]].reduce<object>(
        merged,
        {},
      );
      return {
        ...rest,
        id: `${written.id}/${notation}`,
        notation,
        document: [more, moreIn[notation]].reduce<object>(merged, document) as Document,
        script,
        expect: { ...written.expect, ...written.expect_in?.[notation] },
      };
    });
  });
}

/** One case of a file, in one notation. */
export function caseOf(file: string, id: string): Case<object> {
  const found = casesOf(file).find((each) => each.id === id);
  if (found === undefined) throw new Error(`there is no case ${id}`);
  return found;
}

/** One test for each case. A pending case must fail: when it holds, its line in `pending.yaml` goes. */
export function hold<Expected extends object>(
  title: string,
  file: string,
  judge: (each: Case<Expected>) => Promise<void>,
): void {
  describe(title, () => {
    test.concurrent.each(casesOf<Expected>(file).map((each) => [each.id, each] as const))('%s', async (id, each) => {
      if (!Object.hasOwn(pending, id)) return judge(each);
      const holds = await judge(each).then(
        () => true,
        () => false,
      );
      expect(holds, `${id} holds now: remove its line from pending.yaml`).toBe(false);
    });
  });
}

/** The ids of all cases of all files, and the ids that wait. */
export function allIds(): { readonly cases: readonly string[]; readonly pending: typeof pending } {
  const files = readdirSync(FOLDER).filter(
    (name) => name.endsWith('.yaml') && !['desks.yaml', 'pending.yaml'].includes(name),
  );
  return { cases: files.flatMap((file) => casesOf(file).map(({ id }) => id)), pending };
}

/** Objects are merged; anything else is replaced. Null removes a key. */
function merged(one: object, other: object | undefined): object {
  if (other === undefined) return one;
  const result: { [key: string]: unknown } = { ...one };
  for (const [key, value] of Object.entries(other)) {
    const before = result[key];
    if (value === null) delete result[key];
    else result[key] = isObject(before) && isObject(value) ? merged(before, value) : value;
  }
  return result;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function read(file: string): unknown {
  return parse(readFileSync(join(FOLDER, file), 'utf8'), { merge: true, maxAliasCount: -1 });
}
