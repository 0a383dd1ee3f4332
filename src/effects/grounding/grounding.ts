/**
 * `policy:grounding`: whether what an agent says rests on what was observed. It may claim only what a tool has done, cite only
 * what there is, and state only what stands in an observation or was given to it. What follows from a violation is the flow's affair.
 */
import type { Json } from '../../expr/json.ts';
import type { Call } from '../../runtime/ports.ts';
import { judgeCitations } from './citations.ts';
import type { Said } from './citations.ts';
import { judgeDeeds } from './deeds.ts';
import { knownFrom } from './known.ts';
import { judgeLookups } from './lookups.ts';
import type { Finding, Material, Observation } from './material.ts';
import { wordsOf } from './tools.ts';
import { judgeValues } from './stated.ts';
import type { Strictness } from './stated.ts';
import { flat, structured } from '../policy/sources.ts';

export interface Utterance {
  readonly said: Said;
  /** What of it the rules about words read, and what of that is the answer itself. */
  readonly text: string;
  readonly answer: string;
  readonly cite: boolean;
  readonly claims: boolean;
  readonly values: Strictness;
}

export interface Verdict {
  readonly findings: readonly Finding[];
  readonly claimed: readonly string[];
}

export function judgeUtterance(said: Utterance, material: Material): Verdict {
  const cited = judgeCitations(said.said, said.cite, said.text, material);
  if (!said.claims) return { findings: cited, claimed: [] };
  const deeds = judgeDeeds(said.text, material);
  const values = judgeValues(said.text, said.answer, said.values, material);
  return {
    findings: [...cited, ...deeds.findings, ...judgeLookups(said.text, material), ...values],
    claimed: deeds.claimed,
  };
}

export interface Heard {
  readonly turn: number;
  readonly text: Json;
}

export function checkGrounding({ command, flow }: Call): Json {
  const { input } = command;
  const { what, cite, claims, values } = input;
  const said = structured(input['said'] ?? null);
  const heard = listOf(input['heard']) as readonly Heard[];
  const tools = listOf(input['tools']).flatMap((name) => {
    const tool = flow.tools[String(name)];
    return tool === undefined ? [] : [wordsOf(String(name), tool)];
  });
  const text = textOf(said);
  const verdict = judgeUtterance(
    {
      said: isRecord(said) ? said : {},
      text,
      answer: isRecord(said) ? flat(said['answer'] ?? null) : text,
      cite: cite === true && !(isRecord(said) && UNCITED.has(String(said['status']))),
      claims: claims === true,
      values: values === 'all' || values === 'off' ? values : 'names',
    },
    materialOf({
      observations: listOf(input['observations']) as readonly Observation[],
      told: [...(listOf(input['given']) as readonly Json[]), ...heard.map((each) => each.text)].map(flat),
      given: Object.values(flow.agents).map(({ instructions }) => instructions),
      since: heard.at(-1)?.turn ?? null,
      claimed: listOf(input['claimed']).map(String),
      tools,
    }),
  );
  const [first] = verdict.findings;
  if (first === undefined) return { ok: true, claimed: [...verdict.claimed] };
  const kinds = [...new Set(verdict.findings.map(({ kind }) => kind))];
  return { ok: false, kinds, reason: `${String(what ?? 'the answer')} ${first.reason}`, claimed: [] };
}

export function materialOf(from: Omit<Material, 'known'>): Material {
  return { ...from, known: knownFrom([...from.given, ...from.told], from.observations, from.tools) };
}

/** What an agent says to somebody, whichever field it says it in. */
function textOf(said: Json): string {
  if (!isRecord(said)) return flat(said);
  // An object that is no answer in an envelope is the answer itself.
  if (!SPOKEN.some((field) => said[field] !== undefined)) return flat(said);
  return SPOKEN.map((field) => flat(said[field] ?? ''))
    .filter((text) => text !== '')
    .join('\n');
}

/** Who asks, or gives up, has nothing to cite. */
const UNCITED: ReadonlySet<string> = new Set(['missing_info', 'ambiguous', 'impossible', 'conflict']);
const SPOKEN = ['answer', 'question', 'reason', 'problem'];

function isRecord(value: Json | undefined): value is { readonly [field: string]: Json } {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
