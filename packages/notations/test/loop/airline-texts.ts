/** Every text of the airline runs with the evidence at its point of the run; and the same with one value changed. */
import { readFileSync } from 'node:fs';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Finding, Material, Observation } from '../../../guard/src/values/evidence.ts';
import { judgeUtterance } from '../../../guard/src/values/grounding.ts';
import { valuesIn } from '../../../guard/src/text/read-values.ts';
import { AIRLINE } from './airline.ts';
import type { Trajectory } from './airline.ts';

const NEUTRAL: ReadonlySet<string> = new Set(['calculate', 'think']);

interface Tool {
  readonly function: { readonly name: string };
}

function toolsOf(): Material['tools'] {
  const list = JSON.parse(readFileSync(new URL('airline_tools.json', AIRLINE), 'utf8')) as Tool[];
  return list.map(({ function: { name } }) => ({ name, neutral: NEUTRAL.has(name) }));
}

interface Spoken {
  readonly text: string;
  readonly material: Material;
}

export function judge(text: string, material: Material): readonly Finding[] {
  return judgeUtterance({ fields: {}, text, cite: false, values: 'names' }, material);
}

export function textsOf({ messages }: Trajectory): readonly Spoken[] {
  const tools = toolsOf();
  const given = [readFileSync(new URL('airline_policy.md', AIRLINE), 'utf8')];
  const [observations, userTexts]: [Observation[], string[]] = [[], []];
  const waiting: { readonly name: string; readonly args: string }[] = [];
  const spoken: Spoken[] = [];
  messages.forEach(({ role, content, tool_calls: calls = [] }, turn) => {
    waiting.push(...calls);
    const text = content ?? '';
    if (role === 'tool') {
      const { name = '', args = '{}' } = waiting.shift() ?? {};
      observations.push(observationOf(turn, name, args, text));
    } else if (role === 'user') userTexts.push(text);
    else if (text.trim() !== '' && calls.length === 0)
      spoken.push({ text, material: { observations: [...observations], userTexts: [...userTexts], given, tools } });
  });
  return spoken;
}

function observationOf(turn: number, tool: string, args: string, content: string): Observation {
  const ok = !content.startsWith('Error');
  const what = { id: `o${turn}`, turn, tool, args: JSON.parse(args === '' ? '{}' : args) as Json, ok };
  return ok ? { ...what, result: content } : { ...what, error: content };
}

const CHANGED: ReadonlySet<string> = new Set(['amount', 'date', 'id']);

/** The text with one digit changed in one of its first amounts, dates and identifiers. */
export function changedDigits(text: string, salt: number): readonly string[] {
  const stated = valuesIn(text).filter(({ kind }) => CHANGED.has(kind));
  return stated.slice(0, 3).flatMap(({ kind, key, text: written }) => {
    const at = text.indexOf(written);
    const digits = [...written.matchAll(/\d/g)].map(({ index }) => index);
    const place = digits[(salt * 7) % digits.length];
    if (at < 0 || place === undefined) return [];
    const digit = (Number(written[place]) + (kind === 'date' ? 1 : 3)) % 10;
    const changed = `${written.slice(0, place)}${digit}${written.slice(place + 1)}`;
    const [now] = valuesIn(changed);
    if (now === undefined || now.kind !== kind || now.key === key) return [];
    return [text.slice(0, at) + changed + text.slice(at + written.length)];
  });
}
