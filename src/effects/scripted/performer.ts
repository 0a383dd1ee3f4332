/**
 * Performs commands from a script. The position in a script follows from the journal (the command's ordinal), so a run
 * goes on where it was after a wait or a crash.
 */
import { compileExpr } from '../../expr/index.ts';
import { costOf, priceIn } from '../../ir/price.ts';
import type { Answer, Command, Failure, Settled } from '../../ir/events.ts';
import { PerformError } from '../../runtime/failures.ts';
import type { Asked, Call, Performer } from '../../runtime/ports.ts';
import { promptOf, promptText } from '../prompt/prompt.ts';
import { SCRIPTED_TYPES } from './script.ts';
import type { AnswerEntry, EntryBase, ModelEntry, Script, ToolEntry } from './script.ts';

/** Calls that the script says nothing about go to `otherwise`: under a script, a plugin's tool really runs. */
export function scriptedPerformer(script: Script, otherwise?: Performer): Performer {
  return {
    perform: async (call) => {
      const { command } = call;
      if (command.kind === 'model') return model(script, call);
      const entries = command.kind === 'tool' ? script.tools?.[command.name] : undefined;
      if (entries !== undefined) return tool(script, call, entries);
      if (otherwise !== undefined) return otherwise.perform(call);
      throw new PerformError({
        class: 'fatal',
        type: 'ScriptError',
        message: `the script says nothing about the ${command.kind} \`${command.name}\``,
      });
    },
    answer: (asked) => answer(script, asked),
  };
}

async function model(script: Script, call: Call): Promise<Settled> {
  const { command, flow } = call;
  const agent = flow.agents[command.name];
  const entries = script.agents?.[command.name] ?? (agent === undefined ? undefined : script.agents?.[agent.name]);
  if (entries === undefined) throw silent(`agent \`${command.name}\``);
  const input = promptText(promptOf(flow, command));
  const listed = entries.map((entry): ModelEntry => (typeof entry === 'string' ? { text: entry } : entry));
  const entry = await said(script, call, listed, input, `agent \`${command.name}\``);
  const text = entry.text ?? '';
  const used = usageOf(entry, call, input, text);
  if (entry.error !== undefined) return { ok: false, error: failureOf(entry), used };
  call.hear?.(text);
  const calls = (entry.tools ?? []).map(({ name, args }, index) => ({ id: `c${index}`, name, args: args ?? {} }));
  return { ok: true, value: calls.length === 0 ? { text } : { text, toolCalls: calls }, used };
}

async function tool(script: Script, call: Call, entries: readonly ToolEntry[]): Promise<Settled> {
  const { command } = call;
  const entry = await said(
    script,
    call,
    entries,
    JSON.stringify(command.input['args'] ?? null),
    `tool \`${command.name}\``,
  );
  return entry.error === undefined ? { ok: true, value: entry.result ?? null } : { ok: false, error: failureOf(entry) };
}

async function said<E extends EntryBase>(
  script: Script,
  call: Call,
  entries: readonly E[],
  input: string,
  whom: string,
): Promise<E> {
  const entry = choose(entries, call.command, input, script.strict === true);
  if (entry === undefined)
    throw new PerformError({
      class: 'fatal',
      type: 'ScriptError',
      message: `the script has no entry left for ${whom}`,
    });
  if (entry.delayMs !== undefined) await call.clock.sleep(entry.delayMs, call.signal);
  return entry;
}

/** A guarded entry that holds comes first; the others are taken in order. */
function choose<E extends EntryBase>(
  entries: readonly E[],
  command: Command,
  input: string,
  strict: boolean,
): E | undefined {
  const guarded = entries.find(({ when }) => when !== undefined && compileExpr(when)({ input }) === true);
  if (guarded !== undefined) return guarded;
  const ordered = entries.filter(({ when }) => when === undefined);
  return strict ? ordered[command.ordinal] : ordered[Math.min(command.ordinal, ordered.length - 1)];
}

/** Without a declared usage a call still costs something: four characters a token. */
function usageOf(entry: ModelEntry, { flow, command }: Call, input: string, text: string): Settled['used'] {
  const inputTokens = entry.usage?.input ?? (entry.error === undefined ? Math.ceil(input.length / 4) : 0);
  const outputTokens = entry.usage?.output ?? Math.ceil(text.length / 4);
  const costMicros = costOf(priceIn(flow, command.name, command.model), { inputTokens, outputTokens });
  return { inputTokens, outputTokens, costMicros };
}

function failureOf(entry: EntryBase): Failure {
  const failure = entry.error ?? 'fatal';
  const type = entry.type ?? SCRIPTED_TYPES[failure];
  return { class: failure, type, message: entry.message ?? `a scripted ${failure} failure` };
}

function answer(script: Script, { question, node, name, ordinal }: Asked): Answer | null {
  const approvals = script.approvals ?? {};
  const key = [question.id, node, question.about, name].find((each) => Object.hasOwn(approvals, each));
  if (key === undefined) return null;
  const given = approvals[key] as string | AnswerEntry | readonly (string | AnswerEntry)[];
  const list = Array.isArray(given) ? (given as readonly (string | AnswerEntry)[]) : [given as string | AnswerEntry];
  const entry = script.strict === true ? list[ordinal] : list[Math.min(ordinal, list.length - 1)];
  if (entry === undefined) return null;
  return typeof entry === 'string' ? { choice: entry, by: 'script' } : { by: 'script', ...entry };
}

function silent(whom: string): PerformError {
  return new PerformError({ class: 'fatal', type: 'ScriptError', message: `the script says nothing about ${whom}` });
}
