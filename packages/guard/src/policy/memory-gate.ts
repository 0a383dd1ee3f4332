/**
 * The write gate of long-term memory. After the answer it decides: the entry becomes active, is quarantined, or is refused.
 * An entry needs successful observations that support it. If the run read text from outside, it is quarantined. The tenure
 * of its sources limits how long it lasts.
 */
import { listOf, mapTexts } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Instant } from '@sluice-internal/kernel/ir';
import { textOf } from '@sluice-internal/engine/ports';
import type { Call, MemoryEntry, MemorySource } from '@sluice-internal/engine/ports';
import { TOKEN } from '@sluice-internal/pii';
import { observedId } from '../values/citations.ts';
import { usedTools, type Observation } from '../values/evidence.ts';
import { judgeUtterance } from '../values/grounding.ts';
import { even, flat, structured } from '../text/sources.ts';
import { untrustedInput, vouchingInput } from './input-trust.ts';

/** The rules of a document, as the compiled graph holds them. */
export interface MemoryRules {
  readonly lifetimeMs: number;
  /** `untrusted`: entries of untrusted runs wait for an operator. `all`: every entry does. `off`: only unsupported ones do. */
  readonly quarantine: 'untrusted' | 'all' | 'off';
  readonly validator: string;
}

export type Judgement =
  | { readonly state: 'refused'; readonly reason: string }
  | (Pick<MemoryEntry, 'state' | 'reason' | 'goal' | 'answer' | 'sources' | 'trust' | 'expiresAt'> & {
      readonly supported: boolean;
    });

const ANSWER_MAX = 20_000;

export function judgeWrite(call: Call, rules: MemoryRules, now: Instant): Judgement {
  const { input } = call.command;
  const goal = withoutTokens(input['goal'] ?? null);
  const answer = withoutTokens(input['answer'] ?? null);
  if (textOf(answer).trim() === '') return { state: 'refused', reason: 'there is no answer' };
  if (JSON.stringify(answer).length > ANSWER_MAX)
    return { state: 'refused', reason: `the answer has more than ${ANSWER_MAX} characters` };
  const observations = listOf(input['observations']) as readonly Observation[];
  if (observations.length === 0 && listOf(input['known']).length > 0)
    return { state: 'refused', reason: 'the answer comes from memory alone, without a new observation' };
  const { sources, problem } = supportOf(call, observations);
  const lasts = tenureOf(call, sources, rules.lifetimeMs);
  if ('reason' in lasts) return { state: 'refused', reason: lasts.reason };
  const outside = outsideSource(call, observations);
  const reason = problem ?? quarantineReason(rules, outside);
  return {
    state: reason === null ? 'active' : 'quarantined',
    reason,
    goal,
    answer,
    sources,
    trust: outside === null ? 'trusted' : 'untrusted',
    expiresAt: now + lasts.ms,
    supported: problem === null,
  };
}

/** A token of personal data means nothing in another run, where the same number may stand for another person. */
function withoutTokens(value: Json): Json {
  const typeOf = (token: string): string => `[${token.slice(5, token.lastIndexOf('_'))}]`;
  const plain = (text: string): string => text.replace(TOKEN, typeOf);
  return mapTexts(value, plain, plain);
}

interface Support {
  readonly sources: readonly MemorySource[];
  /** The reason why the observations do not support the answer, or null. */
  readonly problem: string | null;
}

function supportOf(call: Call, observations: readonly Observation[]): Support {
  const { input } = call.command;
  const cited = [...new Set(listOf(input['citations']).map((id) => observedId(String(id), observations)))];
  const known = new Set(observations.map(({ id }) => id));
  const found = observations.filter(({ id }) => cited.includes(id));
  const sources = found.filter(({ ok }) => ok).map(({ id, tool }) => ({ id, tool }));
  const missing = cited.find((id) => !known.has(id));
  const failed = found.find(({ ok }) => !ok);
  if (cited.length === 0) return { sources, problem: 'no observation supports the answer' };
  if (missing !== undefined) return { sources, problem: `observation ${missing} does not exist` };
  if (failed !== undefined) return { sources, problem: `observation ${failed.id} is a failure` };
  return { sources, problem: validation(input) ?? unshown(call, found) };
}

/** The validators of the document, and the reason why the run is only a partial success. */
function validation({ invalid, doubt = null }: Call['command']['input']): string | null {
  const [broken] = listOf(invalid);
  if (broken !== undefined) return String(broken);
  return doubt === null ? null : String(doubt);
}

/** The first value of the answer that neither the cited observations nor people show, or the words if they show less than half of them. */
function unshown({ command, flow }: Call, cited: readonly Observation[]): string | null {
  const { goal = null, asked = goal, answer = null, userAnswers } = command.input;
  const userTexts = [textOf(asked), ...(listOf(userAnswers) as readonly Json[]).map(textOf)];
  // The description of the tool and the names of fields count as known.
  const given = cited.flatMap(({ tool, result = null }) => [
    flow.tools[tool]?.description ?? '',
    fieldsOf(result).join(' '),
  ]);
  const tools = usedTools([...new Set(cited.map(({ tool }) => tool))], flow);
  const text = textOf(answer);
  const utterance = { fields: {}, text, cite: false, values: 'all' } as const;
  const [finding] = judgeUtterance(utterance, { observations: cited, userTexts, given, tools });
  if (finding !== undefined) return `the answer ${finding.reason}`;
  const seen = cited.flatMap(({ args, result = null }) => [flat(args), flat(structured(result))]);
  const known = wordsIn([...seen, ...userTexts, ...given].join('\n'));
  const words = [...wordsIn(text)];
  const unknown = words.filter((word) => !known.has(word));
  if (unknown.length * 2 < words.length || unknown.length === 0) return null;
  return `the answer says ${unknown.slice(0, SHOWN_MAX).join(' ')}, which occurs in no observation and was not given`;
}

const SHOWN_MAX = 5;

/** Shorter words occur in any text. */
function wordsIn(text: string): ReadonlySet<string> {
  return new Set(even(text).match(/[\p{L}\d]{4,}/gu) ?? []);
}

function fieldsOf(value: Json): readonly string[] {
  if (value === null || typeof value !== 'object') return [];
  if (Array.isArray(value)) return value.flatMap(fieldsOf);
  return Object.entries(value).flatMap(([field, each]) => [field, ...fieldsOf(each)]);
}

/** The shortest tenure of the sources limits the entry. A source that holds for the run only makes no memory. */
function tenureOf(
  { flow }: Call,
  sources: readonly MemorySource[],
  lifetimeMs: number,
): { readonly ms: number } | { readonly reason: string } {
  let ms = lifetimeMs;
  for (const { tool } of sources) {
    const tenure = flow.tools[tool]?.tenureMs ?? null;
    if (tenure === 0) return { reason: `results of ${tool} hold for this run only` };
    if (tenure !== null) ms = Math.min(ms, tenure);
  }
  return { ms };
}

/** The first source of text in this run that outsiders can write, cited or not; null if there was none. */
function outsideSource(call: Call, observations: readonly Observation[]): string | null {
  const { command, flow } = call;
  const { recalled, user = null } = command.input;
  // The text of a refused call is the engine's own.
  const sent = observations.filter((each) => (each as { readonly refused?: Json }).refused === undefined);
  const tool = sent.find(({ tool: name, error }) => flow.tools[name]?.trust === undefined || error !== undefined);
  if (tool !== undefined) return `\`${tool.tool}\``;
  if (listOf(recalled).length > 0) return 'memory that is not trusted';
  const agentInput = { ...command, input: { ...command.input, agent: command.input['owner'] ?? null } };
  return vouchingInput(user, untrustedInput(agentInput, flow)).foreign.length > 0 ? 'the input' : null;
}

function quarantineReason({ quarantine }: MemoryRules, outside: string | null): string | null {
  if (quarantine === 'all') return 'every entry of this memory needs a release';
  if (quarantine === 'off' || outside === null) return null;
  return `the run read text that outsiders can write: ${outside}`;
}
