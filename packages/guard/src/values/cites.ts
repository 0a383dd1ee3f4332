/**
 * `policy:cites`: a result must cite documents that the run retrieved. Documents are in the results of successful calls that
 * read. A document is cited by an address, an id or a title that it has, or by the id of its observation.
 */
import { listOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Call } from '@sluice-internal/engine/ports';
import type { Observation } from './evidence.ts';

export function checkCites({ command, flow }: Call): Json {
  const { answer = null, observations = null, least } = command.input;
  const needed = typeof least === 'number' ? least : 1;
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const reads = (listOf(observations) as readonly Observation[]).filter(
    ({ ok, tool }) => ok && READS.has(flow.tools[tool]?.effect ?? ''),
  );
  const documents = reads.flatMap(documentsIn);
  const cited = documents.filter((names) => names.some((name) => occurs(name, text)));
  const distinct = new Set(cited.map((names) => names.join('\n'))).size;
  if (distinct >= needed) return { ok: true, reason: '', cited: distinct };
  const found = reads.length === 0 ? 'none was retrieved' : `it cites ${distinct} of ${documents.length}`;
  const reason = `the result must cite at least ${needed} of the retrieved documents: ${found}`;
  return { ok: false, reason, cited: distinct };
}

const READS: ReadonlySet<string> = new Set(['read', 'egress']);

/** Fields that name a document. */
const NAMING = /^(?:id|.*_id|url|uri|link|href|doi|isbn|path|file|title|name|source|key|slug)$/i;
const ADDRESS = /\bhttps?:\/\/[^\s"'<>()[\]{}]+/g;
/** A shorter name occurs by chance. */
const NAME_MIN = 3;
const DOCUMENTS_MAX = 1000;

/** The names of each document of a call: one for every object that has a name, and one for the call itself. */
function documentsIn({ id, args, result = null }: Observation): readonly (readonly string[])[] {
  const documents: string[][] = [[id, ...addressesIn(args)]];
  const visit = (value: Json): void => {
    if (documents.length >= DOCUMENTS_MAX || typeof value !== 'object' || value === null) {
      if (typeof value === 'string') documents[0]?.push(...addressesIn(value));
      return;
    }
    if (!Array.isArray(value)) {
      const names = Object.entries(value).flatMap(([field, each]) => (NAMING.test(field) ? nameIn(each) : []));
      if (names.length > 0) documents.push(names);
    }
    for (const each of Object.values(value)) visit(each);
  };
  visit(result);
  return documents;
}

function nameIn(value: Json): readonly string[] {
  const name = typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : '';
  return name.length < NAME_MIN ? [] : [name];
}

function addressesIn(value: Json): readonly string[] {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return [...text.matchAll(ADDRESS)].map(([address]) => address.replace(/[.,;:!?]+$/, ''));
}

/** The name as a whole: not as a part of a longer word, number or address. */
function occurs(name: string, text: string): boolean {
  const [where, what] = [text.toLowerCase(), name.toLowerCase()];
  for (let at = where.indexOf(what); at >= 0; at = where.indexOf(what, at + 1)) {
    const before = where.charAt(at - 1);
    const rest = where.slice(at + what.length);
    // A full stop ends a sentence unless more of a name follows it.
    if (!/[\p{L}\p{N}_/.-]/u.test(before) && !/^(?:[\p{L}\p{N}_/-]|[.:?&=#][\p{L}\p{N}_/])/u.test(rest)) return true;
  }
  return false;
}
