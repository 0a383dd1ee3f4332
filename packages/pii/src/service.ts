/** Calls a Presidio analyzer over HTTP. If it cannot be reached, the call of the run fails. */
import type { PiiPolicy } from '@sluice-internal/kernel/ir';
import { fail } from '@sluice-internal/engine/ports';
import type { Found } from './detect.ts';

export const PII_SERVICE_ERROR = 'PiiServiceError';
const TIMEOUT_MS = 10_000;
const SCORE_MIN = 0.5;
/** Names of Presidio, where ours differ from the lower-case form. */
const TYPES: { readonly [entity: string]: string } = {
  US_SSN: 'ssn',
  CREDIT_CARD: 'card',
  IBAN_CODE: 'iban',
  EMAIL_ADDRESS: 'email',
  PHONE_NUMBER: 'phone',
  IP_ADDRESS: 'ip',
  PERSON: 'name',
};

export async function askService(
  { url, language }: NonNullable<PiiPolicy['service']>,
  text: string,
  { types, names }: PiiPolicy,
): Promise<readonly Found[]> {
  if (text.trim() === '') return [];
  const address = new URL(url.replace(/(?:\/analyze)?\/*$/, '/analyze'));
  const entities = await analyze(address, { text, language });
  const at = createPositions(text);
  return entities.flatMap(({ entity_type, start, end, score }) => {
    const type = TYPES[entity_type] ?? entity_type.toLowerCase();
    const isWanted = type === 'name' ? names : types.includes(type);
    return isWanted && score >= SCORE_MIN ? [{ type, start: at(start), end: at(end) }] : [];
  });
}

/** Presidio counts characters of Unicode. JavaScript counts an emoji, for example, as two. */
function createPositions(text: string): (character: number) => number {
  if (!/[\uD800-\uDBFF]/.test(text)) return (character) => character;
  const starts: number[] = [];
  let next = 0;
  for (const character of text) {
    starts.push(next);
    next += character.length;
  }
  return (character) => starts[character] ?? text.length;
}

interface Entity {
  readonly entity_type: string;
  readonly start: number;
  readonly end: number;
  readonly score: number;
}

async function analyze(url: URL, body: object): Promise<readonly Entity[]> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok) throw new Error(`status ${response.status}`);
    const found: unknown = await response.json();
    if (!Array.isArray(found) || !found.every(isEntity)) throw new Error('the reply is not one of a Presidio analyzer');
    return found;
  } catch (cause) {
    const { message: words, cause: reason } = cause as Error;
    const why = reason instanceof Error ? `${words} (${reason.message})` : words;
    const message = `the service for personal data at ${url.origin} cannot be used: ${why}`;
    throw fail('transient', PII_SERVICE_ERROR, message);
  }
}

function isEntity(value: unknown): value is Entity {
  const { entity_type, start, end, score } = (value ?? {}) as Partial<Entity>;
  return typeof entity_type === 'string' && [start, end, score].every((each) => typeof each === 'number');
}
