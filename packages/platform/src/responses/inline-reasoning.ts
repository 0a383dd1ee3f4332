/**
 * Splits a reply into what the model thought and what it says. Some models write their reasoning into the text, as
 * `<think>…</think>`. It is no answer: no keyword in it takes a route, and no JSON in it is read.
 */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';

interface Split {
  readonly text: string;
  /** Null if there is none. */
  readonly reasoning: string | null;
}

interface Mark {
  readonly open: string;
  readonly close: string;
  /** Ends the reasoning as well. */
  readonly until?: string;
}

const MARKS: readonly Mark[] = [
  ...['think', 'thinking', 'thought', 'reasoning', 'seed:think'].map((name) => ({
    open: `<${name}>`,
    close: `</${name}>`,
  })),
  { open: '[think]', close: '[/think]' },
  { open: '◁think▷', close: '◁/think▷' },
  { open: '<|channel|>analysis<|message|>', close: '<|end|>', until: '<|start|>' },
];
/** What stands around the answer of a model that writes its channels into the text. */
const CHANNEL = /^\s*(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>/;
const CLOSING = /<\|(?:return|end)\|>\s*$/;
const FENCE = '```';

function withoutReasoning(given: string): Split {
  const lower = given.toLowerCase();
  if (!MARKS.some(({ open, close }) => lower.includes(open) || lower.includes(close)))
    return { text: given, reasoning: null };
  const thought: string[] = [];
  let text = withoutBeginning(given, thought);
  for (let next = blockIn(text); next !== null; next = blockIn(text)) {
    thought.push(text.slice(next.from, next.to));
    text = `${text.slice(0, next.start)}${text.slice(next.end)}`;
  }
  if (thought.length === 0) return { text: given, reasoning: null };
  const answer = text.replace(CHANNEL, '').replace(CLOSING, '');
  return { text: answer.trim(), reasoning: thought.map((each) => each.trim()).join('\n\n') };
}

/** Some servers keep the opening mark: then the reply begins inside the reasoning. */
function withoutBeginning(text: string, thought: string[]): string {
  const lower = text.toLowerCase();
  for (const { open, close } of MARKS) {
    const [from, to] = [lower.indexOf(open), lower.indexOf(close)];
    if (to === -1 || (from !== -1 && from < to) || text.slice(0, to).includes(FENCE)) continue;
    thought.push(text.slice(0, to));
    return text.slice(to + close.length);
  }
  return text;
}

interface Block {
  readonly start: number;
  readonly from: number;
  readonly to: number;
  readonly end: number;
}

/** The first block that begins a line outside of a code fence. Without its closing mark it reaches to the end. */
function blockIn(text: string): Block | null {
  const lower = text.toLowerCase();
  let fenced = false;
  for (let at = 0; at <= lower.length; at = nextLine(lower, at)) {
    const line = lower.slice(at, nextLine(lower, at));
    const start = at + line.length - line.trimStart().length;
    if (line.trimStart().startsWith(FENCE)) fenced = !fenced;
    const mark = fenced ? undefined : MARKS.find(({ open }) => lower.startsWith(open, start));
    if (mark === undefined) continue;
    const from = start + mark.open.length;
    const to = endOf(lower, from, mark);
    return { start, from, to, end: lower.startsWith(mark.close, to) ? to + mark.close.length : to };
  }
  return null;
}

function endOf(lower: string, from: number, { close, until }: Mark): number {
  const ends = [lower.indexOf(close, from), until === undefined ? -1 : lower.indexOf(until, from)];
  const found = ends.filter((end) => end !== -1);
  return found.length === 0 ? lower.length : Math.min(...found);
}

function nextLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length + 1 : end + 1;
}

/** The same for the recorded reply of a model: the reasoning is in a field of its own, and is not sent again. */
export function splitReply(value: Json): Json {
  if (!isRecord(value) || typeof value['text'] !== 'string') return value;
  const { text, reasoning } = withoutReasoning(value['text']);
  if (reasoning === null) return value;
  const { parts } = value;
  const answer = { ...value, text, reasoning };
  return Array.isArray(parts) ? { ...answer, parts: parts.map(withoutReasoningPart) } : answer;
}

function withoutReasoningPart(part: Json): Json {
  if (!isRecord(part) || part['type'] !== 'text' || typeof part['text'] !== 'string') return part;
  return { ...part, text: withoutReasoning(part['text']).text };
}
