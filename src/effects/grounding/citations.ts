/**
 * Citations and declared claims: ids of observations that exist, tools that have succeeded. Where citing is required, what is
 * cited must also be where the stated values stand.
 */
import type { Json } from '../../expr/json.ts';
import { knownFrom } from './known.ts';
import type { Finding, Material } from './material.ts';
import { valuesIn } from './values.ts';

export interface Said {
  readonly [field: string]: Json;
}

export function judgeCitations(said: Said, required: boolean, text: string, m: Material): readonly Finding[] {
  const listed = said['citations'];
  const ids = [...new Set([...(Array.isArray(listed) ? listed.map(String) : []), ...inline(text)])];
  const strange = ids.filter((id) => !m.observations.some((each) => each.id === id));
  const findings: Finding[] = [];
  const add = (kind: Finding['kind'], reason: string): void => void findings.push({ kind, reason });
  if (strange.length > 0) add('citation', `cites ${strange.join(', ')}, which was never observed`);
  const claims = said['claims'];
  const tools = (Array.isArray(claims) ? claims : []).map((each) => String((each as { tool?: Json } | null)?.tool));
  const failed = tools.filter((tool) => !m.observations.some((o) => o.ok && o.tool === tool));
  if (failed.length > 0) add('claim', `claims ${failed.join(', ')}, and no observation shows that it succeeded`);
  if (!required || findings.length > 0) return findings;
  if (ids.length === 0) add('citation', 'cites no observation');
  else findings.push(...uncited(ids, text, m));
  return findings;
}

/** Values that another observation shows than those that are cited. */
function uncited(ids: readonly string[], text: string, m: Material): readonly Finding[] {
  const all = knownFrom([], m.observations, m.tools);
  const others = knownFrom(
    [...m.given, ...m.told],
    m.observations.filter(({ id }) => ids.includes(id)),
    m.tools,
  );
  const stated = valuesIn(text.replace(INLINE, ' ')).filter(({ kind }) => kind !== 'number');
  const value = stated.find((each) => all.has(each) && !others.has(each));
  if (value === undefined) return [];
  return [{ kind: 'citation', reason: `states ${value.text}, which none of the observations that it cites shows` }];
}

/** `[agent.1.2.0]` within a sentence. */
const INLINE = /\[(?<id>[\p{L}\p{N}_-]+(?:\.\d+){3})\]/gu;

function inline(text: string): readonly string[] {
  return [...text.matchAll(INLINE)].map((match) => match.groups?.['id'] ?? '');
}
