/**
 * Performs commands from a script. The position in the script follows from the journal (the ordinal of the command), so a
 * run continues at the right entry after a wait or a crash.
 */
import { compileExpr, present } from '@sluice-internal/kernel/expr';
import { VERIFIER } from '@sluice-internal/kernel/catalog';
import type { Json } from '@sluice-internal/kernel/expr';
import { costOf, priceIn } from '@sluice-internal/kernel/ir';
import type { Command, CompiledFlow, Failure, Settled } from '@sluice-internal/kernel/ir';
import { fail } from '@sluice-internal/engine/ports';
import type { Asked, Awaited, Call, Performer, ScriptedAnswer } from '@sluice-internal/engine/ports';
import { promptOf, promptText } from '@sluice-internal/platform';
import { SCRIPTED_TYPES } from './script.ts';
import type { ApprovalEntry, Entries, EntryBase, ModelEntry, Script, ToolEntry } from './script.ts';

/**
 * Calls of tools that the script does not name go to `otherwise`.
 * @example
 * const performer = scriptedPerformer({ agents: { triage: ['{"kind": "other"}'] } });
 * const own = createEngine({ journal: openMemory(), performer });
 */
export function scriptedPerformer(script: Script, otherwise?: Performer): Performer {
  return {
    perform: async (call) => {
      const { command } = call;
      if (command.kind === 'model') return reply(script, call);
      const entries = command.kind === 'tool' ? ownEntry(script.tools, command.name) : undefined;
      if (entries !== undefined) return toolResult(script, call, entries);
      if (otherwise !== undefined) return otherwise.perform(call);
      throw scriptError(`the script has no entry for the ${command.kind} \`${command.name}\``);
    },
    isScripted: () => true,
    answer: (asked) => answer(script, asked),
    expires: (asked) => isExpiry(approvalEntry(script, asked)),
    signal: (waiting) => signal(script, waiting),
  };
}

/** True if the script has entries for the agent or tool of this call. */
export function isScripted(
  script: Script,
  flow: CompiledFlow,
  { kind, name }: Pick<Command, 'kind' | 'name'>,
): boolean {
  if (kind === 'model') return agentEntries(script, flow, name) !== undefined;
  return kind === 'tool' && ownEntry(script.tools, name) !== undefined;
}

async function reply(script: Script, call: Call): Promise<Settled> {
  const { command, flow } = call;
  const isVerdict = command.input['verdict'] === true;
  const entries = agentEntries(script, flow, command.name) ?? (isVerdict ? verdictEntries(script) : undefined);
  if (entries === undefined) throw scriptError(`the script has no entry for the agent \`${command.name}\``);
  const input = promptText(promptOf(flow, command));
  const listed = listOf(entries).map((entry): ModelEntry => (typeof entry === 'string' ? { text: entry } : entry));
  const entry = await nextEntry(script, call, listed, input, `agent \`${command.name}\``);
  const text = textOf(entry);
  const used = usageOf(entry, call, input, text);
  if (entry.error !== undefined) return { ok: false, error: failureOf(entry), used };
  call.onText?.(text);
  if (isVerdict) return { ok: true, value: { text, scripted: true }, used };
  const calls = (entry.tools ?? []).map(({ name, args }, index) => ({ id: `c${index}`, name, args: args ?? {} }));
  return { ok: true, value: calls.length === 0 ? { text } : { text, toolCalls: calls }, used };
}

/** Without an entry the verifier agrees: a rehearsal proves the wiring. */
function verdictEntries(script: Script): Entries<string | ModelEntry> {
  return ownEntry(script.agents, VERIFIER) ?? { when: 'true', text: '{"ok": true}' };
}

/** A verdict may be written as its fields. */
function textOf({ text, ok, problem, missing, confidence, conflict }: ModelEntry): string {
  if (text !== undefined || ok === undefined) return text ?? '';
  return JSON.stringify({ ok, ...present({ problem, missing, confidence, conflict }) });
}

async function toolResult(script: Script, call: Call, entries: Entries<ToolEntry>): Promise<Settled> {
  const { name, input } = call.command;
  const entry = await nextEntry(
    script,
    call,
    listOf(entries),
    JSON.stringify(input['args'] ?? null),
    `tool \`${name}\``,
  );
  return entry.error === undefined ? { ok: true, value: entry.result ?? null } : { ok: false, error: failureOf(entry) };
}

function agentEntries(script: Script, flow: CompiledFlow, id: string): Entries<string | ModelEntry> | undefined {
  const name = flow.agents[id]?.name;
  return ownEntry(script.agents, id) ?? (name === undefined ? undefined : ownEntry(script.agents, name));
}

function listOf<Entry>(given: Entries<Entry>): readonly Entry[] {
  return Array.isArray(given) ? (given as readonly Entry[]) : [given as Entry];
}

function ownEntry<Entry>(entries: { readonly [name: string]: Entry } | undefined, name: string): Entry | undefined {
  return entries !== undefined && Object.hasOwn(entries, name) ? entries[name] : undefined;
}

async function nextEntry<E extends EntryBase>(
  script: Script,
  call: Call,
  entries: readonly E[],
  input: string,
  caller: string,
): Promise<E> {
  const entry = choose(entries, call.command, input, script.strict === true);
  if (entry === undefined) throw scriptError(`the script has no more entries for the ${caller}`);
  if (entry.delayMs !== undefined) await call.clock.sleep(entry.delayMs, call.signal);
  return entry;
}

/** The first entry whose `when` holds, or else the next entry without `when`. */
function choose<E extends EntryBase>(
  entries: readonly E[],
  command: Command,
  input: string,
  strict: boolean,
): E | undefined {
  const guarded = entries.find(({ when }) => when !== undefined && compileExpr(when)({ input }) === true);
  if (guarded !== undefined) return guarded;
  return nthOf(
    entries.filter(({ when }) => when === undefined),
    command.ordinal,
    strict,
  );
}

/** The last entry repeats, unless the script is strict. */
function nthOf<Entry>(entries: readonly Entry[], ordinal: number, strict = false): Entry | undefined {
  return strict ? entries[ordinal] : entries[Math.min(ordinal, entries.length - 1)];
}

/** Without `usage`, one token per four characters, so that budgets work under a script. */
function usageOf(entry: ModelEntry, { flow, command }: Call, input: string, text: string): Settled['used'] {
  const inputTokens = entry.usage?.input ?? (entry.error === undefined ? Math.ceil(input.length / 4) : 0);
  const outputTokens = entry.usage?.output ?? Math.ceil(text.length / 4);
  const costMicros = costOf(priceIn(flow, command.name, command.target), { inputTokens, outputTokens });
  return { inputTokens, outputTokens, costMicros };
}

function failureOf(entry: EntryBase): Failure {
  const failure = entry.error ?? 'fatal';
  const type = entry.type ?? SCRIPTED_TYPES[failure];
  return { class: failure, type, message: String(entry.message ?? `a scripted ${failure} failure`) };
}

function answer(script: Script, asked: Asked): ScriptedAnswer | null {
  const entry = approvalEntry(script, asked);
  if (typeof entry === 'string') return { choice: entry };
  if (entry?.choice === undefined || isExpiry(entry)) return null;
  const { expires: _, choice, data, ...rest } = entry;
  return { choice, ...(data === undefined ? {} : { edit: data }), ...rest };
}

/** The scripted answer to a question. Undefined if a person has to answer it. */
function approvalEntry(script: Script, { question, node, name, ordinal }: Asked): ApprovalEntry | undefined {
  const approvals = script.approvals ?? {};
  const names = [question.id, ...suffixesOf(node), ...suffixesOf(question.about), name];
  const key = names.find((each) => Object.hasOwn(approvals, each));
  if (key === undefined) return undefined;
  return nthOf(listOf(approvals[key] as Entries<ApprovalEntry>), ordinal, script.strict);
}

function isExpiry(entry: ApprovalEntry | undefined): boolean {
  return typeof entry === 'object' && entry.expires === true;
}

/** The data of the signal that the script sends to a wait; null if the script does not name the wait. */
function signal({ signals = {}, strict }: Script, { node, signal: name, ordinal }: Awaited): { data: Json } | null {
  const key = [...suffixesOf(node), name].find((each) => Object.hasOwn(signals, each));
  if (key === undefined) return null;
  const given = signals[key] as Json;
  if (!Array.isArray(given)) return { data: given };
  const data = nthOf(given, ordinal, strict);
  return data === undefined ? null : { data };
}

/** `each/sub/gate`, `sub/gate` and `gate`: a node inside others is also found without the outer names. */
export function suffixesOf(name: string): readonly string[] {
  const parts = name.split('/');
  return parts.map((_, index) => parts.slice(index).join('/'));
}

function scriptError(message: string): Error {
  return fail('fatal', 'ScriptError', message);
}
