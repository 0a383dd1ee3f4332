/**
 * The Agent Run Trace: the 14 fields of the specification, derived from the journal of a run. `tenant_id` and `user_scope` are
 * two keys. `art-schema.ts` has the JSON Schema.
 */
import { hash } from 'node:crypto';
import { canonical, isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import {
  BUDGET_ROWS,
  CONTROLS_CHECK,
  DIMENSION_ROWS,
  clockOf,
  isCounted,
  shownAmount,
} from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Event } from '@sluice-internal/kernel/ir';
import type { Report } from '@sluice-internal/engine/ports';
import { fieldsOf, outcomeOf, type CallRecord, type RunRecord } from './record.ts';

/** The value of `tenant_id` and `user_scope` for a run that was started for no tenant or user. */
const UNSCOPED = 'default';
/** The version of an agent whose document declares no boundary. */
const DEFAULT_BOUNDARY = 'default';

export function agentRunTrace(record: RunRecord) {
  const { read, report, calls } = record;
  const { flow } = read.program;
  const { tenant, user } = read.state.origin;
  return {
    run_id: report.run,
    tenant_id: tenant ?? UNSCOPED,
    user_scope: user ?? UNSCOPED,
    goal_object: goalOf(record),
    autonomy_boundary_version: mapValues(flow.agents, ({ id }) => flow.boundaries?.[id]?.version ?? DEFAULT_BOUNDARY),
    workflow_graph_version: report.hash,
    model_versions: modelVersions(record),
    prompt_template_versions: mapValues(flow.agents, ({ instructions }) => sha256(instructions)),
    tool_registry_version: sha256(canonical(flow.tools)),
    state_checkpoints: checkpointsOf(flow, read.events),
    tool_calls: tracedCalls(record),
    budget_vector: budgetVector(flow, report, read.state.raised ?? {}),
    validation_results: calls.flatMap(validationsOf),
    escalation_events: calls.flatMap(escalationsOf),
    terminal_code: report.code,
  };
}

/** The goal that the flow keeps, or else the input under the name of the flow. */
function goalOf({ read, report }: RunRecord): Json {
  const goal = read.state.threads.get('0')?.slots['goal'];
  return goal === undefined || goal === null ? { flow: report.flow, input: read.state.input } : goal;
}

/** The models that really replied, where the replies name them; otherwise the models of the document. */
function modelVersions({ read, calls }: RunRecord): { readonly [agent: string]: string } {
  const { agents, models } = read.program.flow;
  const declared = Object.values(agents).map(({ id, model }) => [id, versionOf(model, models)] as const);
  const served = calls.flatMap((call) => {
    const { served } = call.kind === 'model' ? fieldsOf(call) : {};
    return typeof served === 'string' ? [[call.name, served] as const] : [];
  });
  return Object.fromEntries([...declared, ...served]);
}

function versionOf(alias: string | null, models: CompiledFlow['models']): string {
  if (alias === null) return 'unspecified';
  const row = models[alias];
  return isRecord(row) && typeof row['model'] === 'string' ? `${String(row['provider'])}/${row['model']}` : alias;
}

/** A value that the flow computed has no observation. */
function checkpointsOf(flow: CompiledFlow, events: readonly Event[]) {
  const accepted = new Map<string, number>();
  return events.flatMap((event) => {
    if (event.type === 'effect.judged' && event.verdict === 'accepted')
      accepted.set(event.key.slice(0, event.key.lastIndexOf('#')), event.seq);
    if (event.type !== 'slots.written' || event.writes.length === 0) return [];
    const { seq, thread, node, writes } = event;
    const verified = flow.nodes[node]?.op === 'do' ? (accepted.get(thread) ?? null) : null;
    const slots = [...new Set(writes.map(({ slot }) => slot))];
    return [{ seq, branch: thread, node: flow.nodes[node]?.label.name ?? node, slots, verified_by: verified }];
  });
}

function tracedCalls({ calls, refused }: RunRecord) {
  const made = calls.flatMap((call) => {
    if (call.kind !== 'tool' && call.kind !== 'undo') return [];
    const last = call.attempts.at(-1);
    return [
      {
        seq: call.seq,
        tool: call.name,
        arguments_hash: argumentsHash(call.input['args'] ?? null),
        request_id: call.key,
        status: last === undefined ? 'pending' : outcomeOf(call).ok ? 'ok' : 'failed',
        attempts: call.attempts.length,
        observation: last?.seq ?? null,
      },
    ];
  });
  const notMade = refused.map(({ seq, tool, args }) => ({
    seq,
    tool,
    arguments_hash: argumentsHash(args),
    request_id: `refused-${seq}`,
    status: 'refused',
    attempts: 0,
    observation: seq,
  }));
  return [...made, ...notMade].sort((a, b) => a.seq - b.seq);
}

function argumentsHash(args: Json): string {
  return sha256(canonical(args));
}

function budgetVector(flow: CompiledFlow, { usage }: Report, raised: { readonly [meter: string]: number }) {
  const { meters } = flow;
  const limitOf = (dimension: string): number | null => {
    const id = dimension === 'steps' ? 'steps' : `budget.${dimension}`;
    const meter = meters[id];
    return meter === undefined || meter.max === null || !isCounted(meter.unit)
      ? null
      : shownAmount(meter.unit, meter.max + (raised[id] ?? 0));
  };
  const rows = DIMENSION_ROWS.map(({ name, key, measure }) => {
    const limit = BUDGET_ROWS.some((row) => row.name === name) ? limitOf(name) : null;
    return [key, { used: usage[measure], limit }] as const;
  });
  const most = clockOf(flow)?.max ?? null;
  const seconds = { used: usage.wallClockSeconds, limit: most === null ? null : most / 1000 };
  return Object.fromEntries([...rows, ['wall_clock_seconds', seconds] as const]);
}

/** Judged answers of models and tools are schema checks. A check of the flow has the name of its subject. */
function validationsOf(call: CallRecord) {
  if (call.name === CONTROLS_CHECK && call.kind === 'check') return controlValidations(call);
  const kind = kindOf(call);
  if (kind === null) return [];
  const retried = call.retries.map(({ seq, error }) => ({
    seq,
    kind,
    subject: call.node,
    passed: false,
    reason: error.message,
  }));
  if (call.verdict === null) return retried;
  const { ok, reason: why = '' } = fieldsOf(call);
  const refused = call.kind === 'check' && ok === false ? String(why ?? '') : null;
  const { seq, accepted, error } = call.verdict;
  const reason = error?.message ?? refused;
  return [...retried, { seq, kind, subject: call.node, passed: accepted && refused === null, reason: reason ?? null }];
}

/** One check of a call judges for several controls. */
function controlValidations(call: CallRecord) {
  const { verdicts } = fieldsOf(call);
  const { seq } = call.verdict ?? call;
  return Object.entries(isRecord(verdicts ?? null) ? (verdicts as { [control: string]: Json }) : {}).map(
    ([control, given]) => {
      const { ok, reason = null } = isRecord(given) ? given : {};
      const kind = CONTROL_KINDS[control] ?? 'safety';
      const passed = ok === true;
      return { seq, kind, subject: call.node, passed, reason: passed || reason === null ? null : String(reason) };
    },
  );
}

const CONTROL_KINDS: { readonly [control: string]: string } = { arguments: 'schema', provenance: 'grounding' };

function kindOf({ kind, name }: CallRecord): string | null {
  if (kind === 'model' || kind === 'tool') return 'schema';
  if (kind !== 'check') return null;
  if (name === 'policy:grounding') return 'grounding';
  return name.startsWith('policy:') ? 'safety' : 'acceptance';
}

function escalationsOf(call: CallRecord) {
  const { question, seq, attempts, dropped } = call;
  if (question === null) return [];
  const answer = attempts.at(-1);
  const { choice, by, expired } = fieldsOf(call);
  const outcome = answer === undefined ? (dropped === null ? 'open' : 'closed') : 'answered';
  return [
    {
      seq,
      id: question.id,
      about: question.about,
      code: question.code,
      requested_by: question.askedBy,
      decision: typeof choice === 'string' ? choice : null,
      decided_by: typeof by === 'string' ? by : null,
      decided_at_seq: answer?.seq ?? dropped,
      outcome: expired === true ? 'expired' : outcome,
    },
  ];
}

function sha256(text: string): string {
  return `sha256:${hash('sha256', text, 'hex')}`;
}

function mapValues<From, To>(from: { readonly [key: string]: From }, to: (value: From) => To): { [key: string]: To } {
  return Object.fromEntries(Object.entries(from).map(([key, value]) => [key, to(value)]));
}
