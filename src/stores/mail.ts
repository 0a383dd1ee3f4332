/** Mail as every store keeps it: with a hash over the store, the run and the text. */
import { hash } from 'node:crypto';
import type { RunId } from '../ir/events.ts';
import type { MailFact } from '../runtime/ports.ts';

export function hashMail(store: string, run: RunId, fact: string): string {
  return hash('sha256', [store, run, fact].join('\n'), 'base64url');
}

/** Null unless the row is what `post` wrote: its hash matches, and it is a complete answer, signal or cancellation. */
export function readMail(store: string, run: RunId, fact: string, hashed: string): MailFact | null {
  if (hashMail(store, run, fact) !== hashed) return null;
  try {
    const read = JSON.parse(fact) as { readonly [field: string]: unknown } | null;
    return isMailFact(read) ? read : null;
  } catch {
    return null;
  }
}

function isMailFact(fact: unknown): fact is MailFact {
  if (fact === null || typeof fact !== 'object') return false;
  const { type, by, why, id, answer, name, data, note } = fact as { readonly [field: string]: unknown };
  if (type === 'cancel') return typeof by === 'string' && typeof why === 'string';
  if (type === 'signal') return typeof by === 'string' && typeof name === 'string' && data !== undefined;
  if (type === 'note') return typeof (note as { type?: unknown } | null | undefined)?.type === 'string';
  if (type !== 'answer' || typeof id !== 'string' || answer === null || typeof answer !== 'object') return false;
  const given = answer as { readonly [field: string]: unknown };
  return typeof given['choice'] === 'string' && typeof given['by'] === 'string';
}
