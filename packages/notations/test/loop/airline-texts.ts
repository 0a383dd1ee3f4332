/** Every text of the airline runs with the evidence at its point of the run; and the same with one thing changed. */
import { readFileSync } from 'node:fs';
import { evidenceOf, judgeUtterance, wordsOf } from '@sluice-internal/guard/values';
import type { Json } from '@sluice-internal/kernel/expr';
import type { ToolDef } from '@sluice-internal/kernel/ir';
import type { Detected, Evidence, Observation } from '../../../guard/src/values/detector.ts';
import { valuesIn } from '../../../guard/src/text/read-values.ts';
import { AIRLINE, MUTATING } from './airline.ts';
import type { Trajectory } from './airline.ts';

const NEUTRAL: ReadonlySet<string> = new Set(['calculate', 'think']);
const HANDOVER = 'transfer_to_human_agents';

interface Tool {
  readonly function: { readonly name: string; readonly description: string; readonly parameters: Json };
}

function toolsOf(): Evidence['tools'] {
  const list = JSON.parse(readFileSync(new URL('airline_tools.json', AIRLINE), 'utf8')) as Tool[];
  return list.map(({ function: { name, description, parameters } }) =>
    wordsOf(name, {
      description,
      input: parameters,
      effect: MUTATING.has(name) ? 'write' : 'read',
      ...(NEUTRAL.has(name) ? { trust: 'neutral' } : {}),
    } as ToolDef),
  );
}

interface Spoken {
  readonly text: string;
  readonly evidence: Evidence;
  /** The text comes after the result that was taken out. */
  readonly after: boolean;
}

export function judge(text: string, evidence: Evidence): Required<Detected> {
  return judgeUtterance({ fields: {}, text, answer: text, cite: false, claims: true, values: 'names' }, evidence);
}

/** The texts of a run. `without` is the index of a tool message that is taken out, with its call. */
export function textsOf({ messages }: Trajectory, without = -1): readonly Spoken[] {
  const tools = toolsOf();
  const given = [readFileSync(new URL('airline_policy.md', AIRLINE), 'utf8')];
  const [observations, userTexts, confirmed]: [Observation[], string[], string[]] = [[], [], []];
  const waiting: { readonly name: string; readonly args: string }[] = [];
  const spoken: Spoken[] = [];
  let since: number | null = null;
  messages.forEach(({ role, content, tool_calls: calls = [] }, turn) => {
    waiting.push(...calls);
    const text = content ?? '';
    if (role === 'tool') {
      const { name = '', args = '{}' } = waiting.shift() ?? {};
      if (turn !== without) observations.push(observationOf(turn, name, args, text));
    } else if (role === 'user') {
      userTexts.push(text);
      since = turn;
    } else if (text.trim() !== '' && calls.length === 0) {
      const evidence = evidenceOf({
        observations: [...observations],
        userTexts: [...userTexts],
        given,
        since,
        confirmed: [...confirmed],
        tools,
      });
      const { findings, confirmed: more } = judge(text, evidence);
      if (findings.length === 0) confirmed.push(...more);
      spoken.push({ text, evidence, after: without >= 0 && turn > without });
    }
  });
  return spoken;
}

function observationOf(turn: number, tool: string, args: string, content: string): Observation {
  const ok = !content.startsWith('Error');
  const what = { id: `o${turn}`, turn, tool, args: JSON.parse(args === '' ? '{}' : args) as Json, ok };
  return ok ? { ...what, result: content } : { ...what, error: content };
}

/** The index of the last result of a change that a text follows; -1 if there is none. */
export function lastChange({ messages }: Trajectory): number {
  const waiting: string[] = [];
  let found = -1;
  messages.forEach(({ role, content, tool_calls: calls = [] }, index) => {
    waiting.push(...calls.map(({ name }) => name));
    if (role !== 'tool') return;
    const name = waiting.shift() ?? '';
    const ok = !(content ?? '').startsWith('Error');
    if (ok && MUTATING.has(name) && name !== HANDOVER) found = index;
  });
  const spoken = messages
    .slice(found + 1)
    .some((each) => each.role === 'assistant' && (each.content ?? '').trim() !== '');
  return spoken ? found : -1;
}

/** The text with one digit changed in one of its first amounts or dates. */
export function changedDigits(text: string, salt: number): readonly string[] {
  const stated = valuesIn(text).filter(({ kind }) => kind === 'amount' || kind === 'date');
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

/** The same words without anybody who did it: `has been cancelled` as `was cancelled`, `I have cancelled` as `Cancelled`. */
export function withoutDoer({ messages, ...rest }: Trajectory): Trajectory {
  const recast = (text: string): string =>
    text
      .replace(/\bhas been\b/g, 'was')
      .replace(/\bhave been\b/g, 'were')
      .replace(/\b(is|are) now\b/g, '$1')
      .replace(/\bsuccessfully /g, '')
      .replace(
        /(^|[.!?\n]\s*)(?:I|We)(?: have|['’]ve) (\w)(?=\w*(?:ed|sent|made)\b)/g,
        (_, before: string, first: string) => `${before}${first.toUpperCase()}`,
      );
  return {
    ...rest,
    messages: messages.map((message) =>
      message.role === 'assistant' && typeof message.content === 'string'
        ? { ...message, content: recast(message.content) }
        : message,
    ),
  };
}
