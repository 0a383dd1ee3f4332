/** Turns a stored run into a case: its input, its recorded replies, results and answers, and what it did. */
import { stringify } from 'yaml';
import type { Json } from '../../../expr/json.ts';
import type { AnswerEntry, ModelEntry, ToolEntry } from '../../../effects/scripted/script.ts';
import { isRecord } from '../journal/record.ts';
import type { CallRecord, RunRecord } from '../journal/record.ts';

export interface RecordedCase {
  readonly name: string;
  readonly input: Json;
  readonly script: object;
  readonly expect: object;
}

/**
 * The values are those of the journal: what the policy of the run replaced or removed there stays so in the case. Retried
 * attempts are entries of their own.
 */
export function caseOf(record: RunRecord, name: string = record.report.run): RecordedCase {
  const { read, report, calls } = record;
  const { code, path, output, usage } = report;
  const asked = [...new Set(calls.flatMap(({ question, node }) => (question === null ? [] : [node])))];
  return {
    name,
    input: read.state.input,
    script: {
      agents: grouped(calls, 'model', modelEntry),
      tools: grouped(calls, 'tool', toolEntry),
      approvals: answersOf(calls),
      strict: true,
    },
    expect: {
      ...(code === null ? {} : { code }),
      path,
      tools: calls.filter(({ kind }) => kind === 'tool').map(({ name: tool }) => tool),
      ...(output === null ? {} : { output }),
      asks: asked,
      atMost: { modelCalls: usage.modelCalls, toolCalls: usage.toolCalls },
    },
  };
}

export function suiteText(flow: string, cases: readonly RecordedCase[]): string {
  return stringify({ flow, cases }, { lineWidth: 120, aliasDuplicateObjects: false });
}

function grouped<Entry>(
  calls: readonly CallRecord[],
  kind: CallRecord['kind'],
  entryOf: (attempt: CallRecord['attempts'][number]) => Entry,
): { [name: string]: Entry[] } {
  const groups: { [name: string]: Entry[] } = {};
  for (const call of calls)
    if (call.kind === kind) for (const attempt of call.attempts) (groups[call.name] ??= []).push(entryOf(attempt));
  return groups;
}

function modelEntry({ ok, value, error, used }: CallRecord['attempts'][number]): ModelEntry {
  const usage = { usage: { input: used.inputTokens ?? 0, output: used.outputTokens ?? 0 } };
  if (!ok || !isRecord(value)) return { ...failure(error), ...usage };
  const calls = Array.isArray(value['toolCalls']) ? value['toolCalls'].filter(isRecord) : [];
  const tools = calls.map(({ name: tool = '', args = {} }) => ({ name: String(tool), args }));
  return { text: String(value['text'] ?? ''), ...(tools.length === 0 ? {} : { tools }), ...usage };
}

function toolEntry({ ok, value, error }: CallRecord['attempts'][number]): ToolEntry {
  return ok ? { result: value } : failure(error);
}

const SCRIPTED = ['transient', 'timeout', 'rate_limit', 'refused', 'fatal'] as const;

function failure(error: CallRecord['attempts'][number]['error']): Pick<ToolEntry, 'error' | 'message' | 'type'> {
  const known = SCRIPTED.find((each) => each === error?.class) ?? 'fatal';
  return { error: known, message: error?.message ?? '', type: error?.type ?? 'FatalError' };
}

function answersOf(calls: readonly CallRecord[]): { [about: string]: AnswerEntry[] } {
  const answers: { [about: string]: AnswerEntry[] } = {};
  for (const { question, name, attempts } of calls) {
    const value = attempts.at(-1)?.value;
    if (question === null || !isRecord(value) || value['expired'] === true) continue;
    const { choice = '', text, edit, by } = value;
    const entry = {
      choice: String(choice),
      ...(typeof text === 'string' ? { text } : {}),
      ...(edit === undefined ? {} : { edit }),
      ...(typeof by === 'string' ? { by } : {}),
    };
    (answers[name] ??= []).push(entry);
  }
  return answers;
}
