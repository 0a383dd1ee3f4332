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
  const fields = fact as Fields;
  const holds = typeof fields['type'] === 'string' ? MAIL.get(fields['type']) : undefined;
  return holds?.(fields) ?? false;
}

type Fields = { readonly [field: string]: unknown };

/** What each kind of mail must have. */
const MAIL: ReadonlyMap<string, (fields: Fields) => boolean> = new Map([
  ['cancel', (fields: Fields) => areTexts(fields, 'by', 'why')],
  ['signal', (fields: Fields) => areTexts(fields, 'by', 'name') && fields['data'] !== undefined],
  [
    'guide',
    (fields: Fields) => areTexts(fields, 'by', 'text') && (fields['agent'] === null || areTexts(fields, 'agent')),
  ],
  ['note', ({ note }: Fields) => isReviewNote(note)],
  ['answer', (fields: Fields) => areTexts(fields, 'id') && isAnswer(fields['answer'])],
]);

function areTexts(fields: Fields, ...names: readonly string[]): boolean {
  return names.every((name) => typeof fields[name] === 'string');
}

function isAnswer(answer: unknown): boolean {
  return answer !== null && typeof answer === 'object' && areTexts(answer as Fields, 'choice', 'by');
}

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
