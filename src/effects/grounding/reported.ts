/** Somebody else's doing: the user has said that it was done, or what was read says so of the thing in question. */
import type { Json } from '../../expr/json.ts';
import { clausesOf } from './clauses.ts';
import type { Clause } from './clauses.ts';
import type { Material, Observation } from './material.ts';
import type { Fit } from './tools.ts';
import { valuesIn } from './values.ts';
import { flat, structured } from '../policy/sources.ts';
import { pastOf } from './word-stem.ts';

export function isReported(clause: Clause, fit: Fit, m: Material): boolean {
  const { word, form } = clause;
  if (form === 'noun' || form === 'self') return false;
  const reading = m.observations.filter((o) => !m.tools.some(({ name, changes }) => changes && name === o.tool));
  const state = new RegExp(`\\b(?:was|were|been|got)\\s+${word}\\b`, 'i');
  if (m.told.some((each) => state.test(each))) return true;
  if (isAgentless(clause)) return isOnRecord(clause, fit, reading, m);
  const alone = new RegExp(`\\b${word}\\b`, 'i');
  return reading.some((o) => alone.test(flat(o.result ?? null)));
}

/** Whether nobody is named who did it, so that it may be said of a record. */
export function isAgentless({ form }: Clause): boolean {
  return form === 'past' || form === 'present' || form === 'terse';
}

/** Whether it has been claimed before by those who were heard, or stands in a record of what the clause names. */
function isOnRecord(clause: Clause, { tools }: Fit, reading: readonly Observation[], m: Material): boolean {
  const verbs = [clause.verb, ...tools.flatMap(({ verbs: own }) => own)];
  const past = new RegExp(`(?<!\\p{L}|\\b(?:not|never|be)\\s)(?:${verbs.map(pastOf).join('|')})(?!\\p{L})`, 'iu');
  const ids = valuesIn(clause.text).flatMap(({ kind, text }) => (kind === 'id' ? [text] : []));
  const isAbout = ({ args, result = null }: Observation): boolean => {
    const all = `${flat(args)}\n${flat(result)}`.toLowerCase();
    return ids.length === 0 || ids.some((id) => all.includes(id.toLowerCase()));
  };
  return toldBy(m).has(clause.verb) || reading.some((o) => isAbout(o) && says(o.result ?? null, past));
}

/** What those who were heard say was done. Every claim asks for it, so it is read once. */
function toldBy(m: Material): ReadonlySet<string> {
  const known = TOLD.get(m) ?? new Set(m.told.flatMap((each) => clausesOf(each)).map(({ verb }) => verb));
  TOLD.set(m, known);
  return known;
}

const TOLD = new WeakMap<Material, ReadonlySet<string>>();

/** Whether a text or the name of a field says it, and the field does not say no. */
function says(value: Json, past: RegExp): boolean {
  if (typeof value === 'string') {
    const data = structured(value);
    return typeof data === 'string' ? past.test(data) : says(data, past);
  }
  if (value === null || typeof value !== 'object') return false;
  if (Array.isArray(value)) return value.some((each) => says(each, past));
  return Object.entries(value).some(([key, each]) => (isYes(each) && past.test(key)) || says(each, past));
}

function isYes(value: Json): boolean {
  return value !== null && value !== false && value !== 0 && value !== '';
}
