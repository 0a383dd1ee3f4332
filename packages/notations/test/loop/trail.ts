/** The TRAIL traces as utterances and observations: what the agents said last, and what they had seen by then. */
import { EVAL_DATA } from '../../../../test/support/eval-data.ts';
import { existsSync, readFileSync } from 'node:fs';
import { evidenceOf, judgeUtterance, wordsOf } from '@sluice-internal/guard/values';
import type { ToolDef } from '@sluice-internal/kernel/ir';
import type { Observation } from '../../../guard/src/values/detector.ts';

const TRAIL = new URL('trail/traces.jsonl', EVAL_DATA);

interface Event {
  readonly kind: 'AGENT' | 'CHAIN' | 'LLM' | 'TOOL';
  readonly name: string;
  readonly tool?: string;
  readonly step?: string | null;
  readonly in?: string | null;
  readonly out?: string | null;
}
export interface Trace {
  readonly split: 'GAIA' | 'SWE';
  readonly label: { readonly ungrounded_observation: boolean };
  readonly errors: readonly { readonly category: string }[];
  readonly events: readonly Event[];
}

export function traces(): readonly Trace[] {
  if (!existsSync(TRAIL)) return [];
  const lines = readFileSync(TRAIL, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Trace);
}

/** Noted by a person: a tool's result that there never was; or, besides, anything else that was made up. */
export function isNoted({ label, errors }: Trace, besides: boolean): boolean {
  return label.ungrounded_observation || (besides && errors.some(({ category }) => category === 'Language-only'));
}

/** Whether the claims that go with the final answer hold, and whether the answer itself stands anywhere. */
export function judgeTrace(trace: Trace): { readonly claims: boolean; readonly values: boolean } {
  const { events, split } = trace;
  const observations = events.flatMap((event, at) => observationOf(event, at, events));
  const tools = split === 'GAIA' ? TOOLS : { python: toolOf('Runs code in the repository.') };
  const material = evidenceOf({
    observations,
    userTexts: [events.find(({ kind }) => kind === 'AGENT')?.in ?? ''],
    given: [],
    since: 0,
    confirmed: [],
    tools: Object.entries(tools).map(([name, tool]) => wordsOf(name, tool)),
  });
  const rules = { fields: {}, cite: false, claims: true } as const;
  const thoughts = events.filter(({ kind, step }) => kind === 'LLM' && (step ?? null) !== null);
  const said = thoughts.map(({ out }) => (out ?? '').split('Code:')[0] ?? '').join('\n');
  const answer = answerOf(events);
  const claims = judgeUtterance({ ...rules, text: said, answer: '', values: 'off' }, material);
  const values = judgeUtterance({ ...rules, text: answer, answer, values: 'all' }, material);
  return { claims: claims.findings.length > 0, values: values.findings.some(({ kind }) => kind === 'value') };
}

function toolOf(description: string): ToolDef {
  return {
    description,
    input: true,
    output: true,
    effect: 'read',
    implementation: null,
    timeoutMs: 0,
    permission: '',
    idempotent: true,
    compensate: null,
  };
}

const TOOLS: { readonly [name: string]: ToolDef } = {
  search_agent: toolOf('Searches the internet for an answer.'),
  inspect_file: toolOf('Reads a file.'),
  python: { ...toolOf('Runs code.'), trust: 'neutral' },
};

/** What code prints is an observation of what the code was given; in the traces over repositories it is what reads them. */
function observationOf(event: Event, at: number, events: readonly Event[]): readonly Observation[] {
  const { kind, name, out, step } = event;
  if ((out ?? '') === '' || name === 'FinalAnswerTool' || name === 'CodeAgent.run' || kind === 'LLM') return [];
  const code = events.slice(at).find((each) => each.kind === 'LLM' && each.step === step)?.out ?? '';
  const tool = kind === 'CHAIN' ? 'python' : name === 'TextInspectorTool' ? 'inspect_file' : 'search_agent';
  const args = kind === 'CHAIN' ? (code.split('Code:')[1] ?? '') : null;
  return [{ id: String(at), turn: at, tool, args, ok: true, result: out ?? '' }];
}

function answerOf(events: readonly Event[]): string {
  const given = events.findLast(({ name }) => name === 'FinalAnswerTool')?.in ?? '{}';
  try {
    const { args = [], kwargs = {} } = JSON.parse(given) as { args?: readonly unknown[]; kwargs?: object };
    return [...args, ...Object.values(kwargs)]
      .map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
      .join(' ');
  } catch {
    // Long ones were cut where the traces were put down.
    return given.replace(/…\[\+\d+ chars.*$/s, '').replaceAll('\\n', ' ');
  }
}
