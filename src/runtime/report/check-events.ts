/** The public event of a finished check. The decisions of memory have events of their own. */
import { isRecord } from '../../expr/json.ts';
import type { Json } from '../../expr/json.ts';
import type { InNode, StoryEvent } from './run-events.ts';

type Fields = { readonly [field: string]: Json };

export function checkEvent(check: string, result: Json, about: Omit<InNode, 'type'>): StoryEvent {
  const fields: Fields = isRecord(result) ? result : {};
  if (check === 'memory.read') return recalled(fields, about);
  return check === 'memory.write' ? written(fields, about) : { type: 'check.finished', ...about, check, result };
}

function recalled({ entries, withheld }: Fields, about: Omit<InNode, 'type'>): StoryEvent {
  return { type: 'memory.recalled', ...about, entries: idsIn(entries), quarantined: idsIn(withheld) };
}

function written(result: Fields, about: Omit<InNode, 'type'>): StoryEvent {
  const { ok, state, entry = '', reason = '', trust, expiresAt, sources } = result;
  if (state === 'quarantined')
    return { type: 'memory.quarantined', ...about, entry: String(entry), reason: String(reason) };
  if (ok !== true) return { type: 'memory.refused', ...about, reason: String(reason) };
  return {
    type: 'memory.written',
    ...about,
    entry: String(entry),
    trust: trust === 'trusted' ? 'trusted' : 'untrusted',
    expiresAt: typeof expiresAt === 'number' ? expiresAt : 0,
    sources: idsIn(sources),
  };
}

function idsIn(list: Json | undefined): readonly string[] {
  return Array.isArray(list) ? list.map((each) => String((each as { readonly id?: Json }).id ?? '')) : [];
}
