/** Mail as every store keeps it: with a hash over the store, the run and the text. */
import { hash } from 'node:crypto';
import { parseJson } from '@sluice-internal/kernel/expr';
import type { RunId } from '@sluice-internal/kernel/ir';
import type { MailFact } from './ports.ts';

export function hashMail(store: string, run: RunId, fact: string): string {
  return hash('sha256', [store, run, fact].join('\n'), 'base64url');
}

/** Null if the row was changed from outside: its hash must match, and it must be a complete answer, signal or cancellation. */
export function readMail(store: string, run: RunId, fact: string, hashed: string): MailFact | null {
  if (hashMail(store, run, fact) !== hashed) return null;
  try {
    const read: unknown = parseJson(fact);
    return isMailFact(read) ? read : null;
  } catch {
    return null;
  }
}

function isMailFact(fact: unknown): fact is MailFact {
  if (fact === null || typeof fact !== 'object') return false;
  const { type, by, why, id, answer, name, data, note, text, agent } = fact as Fields;
  if (type === 'cancel') return typeof by === 'string' && typeof why === 'string';
  if (type === 'signal') return typeof by === 'string' && typeof name === 'string' && data !== undefined;
  if (type === 'guide')
    return typeof by === 'string' && typeof text === 'string' && (agent === null || typeof agent === 'string');
  if (type === 'note') return isReviewNote(note);
  if (type !== 'answer' || typeof id !== 'string' || answer === null || typeof answer !== 'object') return false;
  const given = answer as Fields;
  return typeof given['choice'] === 'string' && typeof given['by'] === 'string';
}

type Fields = { readonly [field: string]: unknown };

/** A note becomes an event as it is, so no other event may pass for one. */
function isReviewNote(note: unknown): boolean {
  if (note === null || typeof note !== 'object') return false;
  const { type, ...fields } = note as Fields;
  const expected = type === 'question.notified' ? NOTIFIED : type === 'review.saturated' ? SATURATED : null;
  if (expected === null) return false;
  const known = new Map(Object.entries(expected));
  return (
    Object.entries(fields).every(([name, value]) => typeof value === known.get(name)) &&
    Object.keys(expected).every((name) => name === 'problem' || name in fields)
  );
}

const NOTIFIED = { key: 'string', to: 'string', attempts: 'number', problem: 'string' };
const SATURATED = { key: 'string', open: 'number', ageMs: 'number' };
