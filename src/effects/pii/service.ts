/** Asks a Presidio analyzer over HTTP. If it cannot be asked, nothing passes: the call fails. */
import type { PiiPolicy } from '../../ir/pii.ts';
import { PerformError } from '../../runtime/failures.ts';
import type { Found } from './detect.ts';

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
  const entities = await analyze(new URL('analyze', url.endsWith('/') ? url : `${url}/`), { text, language });
  return entities.flatMap(({ entity_type, start, end, score }) => {
    const type = TYPES[entity_type] ?? entity_type.toLowerCase();
    const isWanted = type === 'name' ? names : types.includes(type);
    return isWanted && score >= SCORE_MIN ? [{ type, start, end }] : [];
  });
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
    return (await response.json()) as Entity[];
  } catch (cause) {
    const message = `the service for personal data cannot be asked: ${(cause as Error).message}`;
    throw new PerformError({ class: 'transient', type: 'PiiServiceError', message });
  }
}
