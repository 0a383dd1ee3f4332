/** Replies and arguments of tool calls that are almost JSON. What they were read as is an event, so a replay never reads them again. */
import { isEnclosed, mended } from '../expr/almost-json.ts';
import { isRecord, type Json } from '../expr/json.ts';
import { parseJson } from '../expr/parse-json.ts';
import { oneObject, readingsOf, reply, unfenced } from '../expr/reply.ts';
import type { EventBody, Pending, Settled } from '../ir/events.ts';
import type { DoNode } from '../ir/nodes.ts';
import type { Program, Visit } from './program.ts';
import { readPath } from './slots.ts';

/** The event of a reply that is read as data and was repaired without a call; null if nothing was. */
export function repaired({ program, node }: Visit<DoNode>, { key }: Pending, value: Json): EventBody | null {
  if (node.effect.kind !== 'model') return null;
  const calls = readPath(value, ['toolCalls']);
  if (Array.isArray(calls) && calls.length > 0) return repairedCalls(key, calls);
  const text = readPath(value, ['text']);
  const found = typeof text === 'string' && isWanted(program, node, text) ? mended(text) : null;
  if (found === null || found.how.length === 0) return null;
  const { text: mendedText, object, how } = found;
  if (node.fit?.whole === true && unfenced(mendedText).trim() !== object) return null;
  if (node.schema !== undefined && program.pure.validate(node.schema, parseJson(object)) !== null) return null;
  return { type: 'reply.repaired', key, how, text: mendedText };
}

/** The reply is read as an object, and no reading of the whole text fits. */
function isWanted({ pure }: Program, { schema, fit }: DoNode, text: string): boolean {
  if (schema === undefined) return fit !== undefined && !isRecord(reply(text));
  for (const reading of readingsOf(text)) if (pure.validate(schema, reading) === null) return false;
  return true;
}

/** Arguments that the reply spells as text. Nothing may stand beside them. */
function repairedCalls(key: Pending['key'], calls: readonly Json[]): EventBody | null {
  const args: [number, Json][] = [];
  const how = new Set<string>();
  for (const [index, call] of calls.entries()) {
    const raw = isRecord(call) && call['args'] === null ? call['raw'] : null;
    const found = typeof raw === 'string' ? mended(raw) : null;
    if (found === null || found.text.trim() !== found.object || found.how.length === 0) continue;
    args.push([index, parseJson(found.object)]);
    for (const each of found.how) how.add(each);
  }
  return args.length === 0 ? null : { type: 'reply.repaired', key, how: [...how], args };
}

/** The observation with the repaired text or arguments. */
export function withRepairs(
  observed: Settled,
  { text, args }: { text?: string; args?: readonly [number, Json][] },
): Settled {
  if (!observed.ok || !isRecord(observed.value)) return observed;
  const { toolCalls } = observed.value;
  const repairs = new Map(args);
  const calls = Array.isArray(toolCalls)
    ? toolCalls.map((call, index) =>
        isRecord(call) && repairs.has(index) ? corrected(call, repairs.get(index) ?? null) : call,
      )
    : toolCalls;
  const value = {
    ...observed.value,
    ...(text === undefined ? {} : { text }),
    ...(calls === undefined ? {} : { toolCalls: calls }),
  };
  return { ...observed, value };
}

function corrected(call: { [field: string]: Json }, args: Json): Json {
  return Object.fromEntries(Object.entries({ ...call, args }).filter(([field]) => field !== 'raw'));
}

/** The problem of a reply that is read as an object, has no schema, and is none. */
export function noObject({ fit }: DoNode, text: Json): string | null {
  if (isPart(text)) return PART;
  if (fit?.reads === undefined || isRecord(oneObject(reply(text)))) return null;
  const names = fit.reads.fields.map((field) => `\`${field}\``).join(', ');
  return `the reply is no JSON object, and the flow reads ${names} in it; reply with one JSON object`;
}

/** The one object that can be read is a part of something that cannot. */
export function isPart(text: Json): boolean {
  return typeof text === 'string' && !isRecord(reply(text)) && isEnclosed(text);
}
export const PART = 'the reply contains a JSON object that cannot be read';
