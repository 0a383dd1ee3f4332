/** Turns a stored run into a case: its input, its recorded replies, results and answers, and its calls as expectations. */
import { stringify } from 'yaml';
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { AnswerEntry, ModelEntry, ToolEntry } from '@sluice-internal/library/host';
import type { Attempt } from '@sluice-internal/engine/report';
import { fieldsOf, type CallRecord, type RunRecord } from '../journal/record.ts';

/**
 * The values are those of the journal: a value that the policy of the run replaced or removed is not restored. Retried
 * attempts are entries of their own. The output and the arguments of tools must be the same, without more fields.
 */
export function caseOf(record: RunRecord, name: string = record.report.run): object {
  const { read, report, calls } = record;
  const { code, path, output, usage } = report;
  const asked = [...new Set(calls.flatMap(({ question, node }) => (question === null ? [] : [node])))];
  const signals = signalsOf(calls);
  return {
    name,
    // The values have tokens in the place of personal data.
    ...(read.program.flow.pii === undefined ? {} : { recorded: true }),
    input: read.state.input,
    script: {
      agents: grouped(calls, ['model'], modelEntry),
      tools: grouped(calls, ['tool', 'undo'], toolEntry),
      approvals: answersOf(calls),
      ...(Object.keys(signals).length === 0 ? {} : { signals }),
      strict: true,
    },
    expect: {
      ...(code === null ? {} : { code }),
      path,
      tools: calls
        .filter(({ kind }) => kind === 'tool')
        .map(({ name: tool, input }) => ({ tool, args: input['args'] ?? null })),
      ...(code === null ? {} : { output, exact: true }),
      asks: asked,
      atMost: { modelCalls: usage.modelCalls, toolCalls: usage.toolCalls },
    },
  };
}

/** The reason why a script cannot repeat the run; null if it can. */
export function unrepeatable({ read: { events }, report: { state } }: RunRecord): string | null {
  if (state === 'cancelled') return 'was cancelled, and a script cannot cancel';
  const [edited] = events.flatMap((event) =>
    event.type === 'run.forked' ? event.edits.filter(({ slot }) => slot !== 'input') : [],
  );
  if (edited === undefined) return null;
  return `is a fork with another value of \`${[edited.slot, ...edited.path].join('.')}\`, which a script cannot give`;
}

export function suiteText(flow: string, cases: readonly object[]): string {
  return stringify({ flow, cases }, { lineWidth: 120, aliasDuplicateObjects: false });
}

function grouped<Entry>(
  calls: readonly CallRecord[],
  kinds: readonly CallRecord['kind'][],
  entryOf: (attempt: Attempt) => Entry,
): { [name: string]: Entry[] } {
  const groups: { [name: string]: Entry[] } = {};
  for (const call of calls)
    if (kinds.includes(call.kind))
      for (const attempt of call.attempts) (groups[call.name] ??= []).push(entryOf(attempt));
  return groups;
}

function modelEntry({ ok, value, error, used }: Attempt): ModelEntry {
  const usage = { usage: { input: used.inputTokens ?? 0, output: used.outputTokens ?? 0 } };
  if (!ok || !isRecord(value)) return { ...failure(error), ...usage };
  const calls = Array.isArray(value['toolCalls']) ? value['toolCalls'].filter(isRecord) : [];
  const tools = calls.map(({ name: tool = '', args = {} }) => ({ name: String(tool), args }));
  return { text: String(value['text'] ?? ''), ...(tools.length === 0 ? {} : { tools }), ...usage };
}

function toolEntry({ ok, value, error }: Attempt): ToolEntry {
  return ok ? { result: value } : failure(error);
}

const SCRIPTED = ['transient', 'timeout', 'rate_limit', 'refused', 'fatal'] as const;

function failure(error: Attempt['error']): Pick<ToolEntry, 'error' | 'message' | 'type'> {
  const known = SCRIPTED.find((each) => each === error?.class) ?? 'fatal';
  return { error: known, message: error?.message ?? '', type: error?.type ?? 'FatalError' };
}

function answersOf(calls: readonly CallRecord[]): { [about: string]: AnswerEntry[] } {
  const answers: { [about: string]: AnswerEntry[] } = {};
  for (const call of calls) {
    const { choice, text, edit, by, expired } = fieldsOf(call);
    if (call.question === null || (choice === undefined && expired !== true)) continue;
    const given = {
      choice: String(choice),
      ...(typeof text === 'string' ? { text } : {}),
      ...(edit === undefined ? {} : { edit }),
      ...(typeof by === 'string' ? { by } : {}),
    };
    (answers[call.name] ??= []).push(expired === true ? { expires: true } : given);
  }
  return answers;
}

/** The data that ended each wait for a signal, in order. */
function signalsOf(calls: readonly CallRecord[]): { [node: string]: Json[] } {
  const signals: { [node: string]: Json[] } = {};
  for (const call of calls) {
    const { data } = fieldsOf(call);
    if (call.kind === 'wait' && data !== undefined) (signals[call.node] ??= []).push(data);
  }
  return signals;
}
