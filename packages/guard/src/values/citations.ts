/**
 * Citations and claimed calls that a reply lists: cited ids must exist, and claimed tools must have succeeded. Where citing is
 * required, the cited observations must contain the stated values.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import { valuesIn } from '../text/read-values.ts';
import type { Finding, Material, Utterance } from './evidence.ts';
import { knownFrom } from './known.ts';

export function citationsOf({ fields, text, cite }: Utterance, material: Material): readonly Finding[] {
  const cited = citedIds(fields, text).map((id) => observedId(id, material.observations));
  const findings = [...unknownIds(cited, material), ...failedClaims(fields, material)];
  if (!cite || findings.length > 0) return findings;
  if (cited.length === 0) return [{ kind: 'citation', text: '', reason: 'cites no observation' }];
  return uncitedValues(cited, text, material);
}

/** An id in brackets inside a sentence: `[agent.1.2.0]`. */
const INLINE = /\[(?<id>[\p{L}\p{N}_-]+(?:\.\d+){3})\]/gu;

function citedIds(fields: Utterance['fields'], text: string): readonly string[] {
  const listed = fields['citations'];
  const inline = [...text.matchAll(INLINE)].map((match) => match.groups?.['id'] ?? '');
  return [...new Set([...(Array.isArray(listed) ? listed.map(String) : []), ...inline])];
}

const NUMBERED = /^\s*#?(?:obs(?:ervation)?[.\s#]*)?(?<number>\d{1,4})\s*$/i;

/** Observations are numbered from 1, as in `{{obs.1.total}}`: `1` and `obs.1` name the first one. */
export function observedId(id: string, observations: readonly { readonly id: string }[]): string {
  if (observations.some((each) => each.id === id)) return id;
  const number = Number(NUMBERED.exec(id)?.groups?.['number'] ?? 0);
  return observations[number - 1]?.id ?? id;
}

function unknownIds(cited: readonly string[], { observations }: Material): readonly Finding[] {
  const unknown = cited.filter((id) => !observations.some((each) => each.id === id));
  if (unknown.length === 0) return [];
  const ids = unknown.join(', ');
  return [{ kind: 'citation', text: ids, reason: `cites ${ids}, which is not the id of an observation` }];
}

function failedClaims(fields: Utterance['fields'], { observations }: Material): readonly Finding[] {
  const claims = fields['claims'];
  const tools = (Array.isArray(claims) ? claims : []).map((each) => String((each as { tool?: Json } | null)?.tool));
  const failed = tools.filter((tool) => !observations.some((each) => each.ok && each.tool === tool));
  if (failed.length === 0) return [];
  const names = failed.join(', ');
  return [{ kind: 'claim', text: names, reason: `claims ${names}, but no observation shows that it succeeded` }];
}

/** Values that occur in an observation, but in none of the cited ones. */
function uncitedValues(cited: readonly string[], text: string, material: Material): readonly Finding[] {
  const { observations } = material;
  const observed = knownFrom({ ...material, given: [], userTexts: [] });
  const allowed = knownFrom({ ...material, observations: observations.filter(({ id }) => cited.includes(id)) });
  const stated = valuesIn(text.replace(INLINE, ' ')).filter(({ kind }) => kind !== 'number');
  const value = stated.find((each) => observed.has(each) && !allowed.has(each));
  if (value === undefined) return [];
  const reason = `states ${value.text}, which occurs in none of the observations that it cites`;
  return [{ kind: 'citation', text: value.text, reason }];
}
