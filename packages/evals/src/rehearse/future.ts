/** One generated future of a flow, from one seed: replies of models, results of tools, answers of people, and faults. */
import type { Json } from '@sluice-internal/kernel/expr';
import { costOf, priceIn } from '@sluice-internal/kernel/ir';
import type { Answer, AskEffect, Command, CompiledFlow, NodeId, Question, Settled } from '@sluice-internal/kernel/ir';
import { createChance } from '@sluice-internal/testing/chance';
import type { Chance } from '@sluice-internal/testing/chance';
import { compared, comparedObject, valueFor, type Generator } from './generate.ts';
import type { Literals, Wanted } from './literals.ts';

export interface Future {
  readonly chance: Chance;
  input(): Json;
  /** The result of a call, and the milliseconds that it takes. Null if a real performer must answer. */
  result(command: Command): { readonly settled: Settled; readonly afterMs: number };
  /** Null if no person ever answers. */
  answer(
    question: Question,
    choices: AskEffect['choices'],
  ): { readonly answer: Answer; readonly afterMs: number } | null;
  /** The data of a signal; null if it is never sent. */
  signal(node: NodeId): { readonly data: Json; readonly afterMs: number } | null;
}

const FAILURES = [
  { class: 'transient', type: 'TransientError', message: '503 overloaded' },
  { class: 'timeout', type: 'TimeoutError', message: 'no answer in time' },
  { class: 'rate_limit', type: 'RateLimitError', message: '429 too many requests' },
  { class: 'fatal', type: 'FatalError', message: '500 broken' },
] as const;
const MINUTE = 60_000;

export function createFuture(flow: CompiledFlow, literals: Literals, seed: number): Future {
  const chance = createChance(seed);
  // Some futures are calm, so that the good paths are seen to their end.
  const trouble = chance.pick([0, 0, 40, 12, 5]);
  const given: Generator = { chance, literals };
  return {
    chance,
    input: () => inputFor(given, flow),
    result: (command) => {
      const afterMs = latency(chance);
      if (chance.oneIn(trouble) && command.kind !== 'check')
        return { settled: { ok: false, error: chance.pick(FAILURES), used: usedBy(flow, command, '') }, afterMs };
      return { settled: successOf(given, flow, command), afterMs };
    },
    answer: (question, choices) => answerFor(given, question, choices),
    signal: (node) =>
      chance.oneIn(10)
        ? null
        : { data: unshaped(given, literals.results.get(node)?.fields.get('data')), afterMs: chance.below(5 * MINUTE) },
  };
}

function inputFor(given: Generator, flow: CompiledFlow): Json {
  if (flow.notation !== 'flow') return given.chance.pick(['Write the report.', 'Find the price of A-7.', '']);
  const { input } = given.literals;
  return input.fields.size === 0 ? { message: valueFor(given, undefined, input) } : valueFor(given, undefined, input);
}

function latency(chance: Chance): number {
  return chance.oneIn(20) ? chance.below(10 * MINUTE) : chance.below(2000);
}

function successOf(given: Generator, flow: CompiledFlow, command: Command): Settled {
  if (command.kind === 'model') return reply(given, flow, command);
  if (command.kind === 'check')
    return { ok: true, value: { ok: !given.chance.oneIn(4), reason: 'generated', text: '' } };
  const wanted = given.literals.results.get(command.node);
  const tool = Object.hasOwn(flow.tools, command.name) ? flow.tools[command.name] : undefined;
  // A result that does not fit its schema is a fault of its own.
  const schema = given.chance.oneIn(50) ? undefined : tool?.output;
  return { ok: true, value: hasShape(schema) ? valueFor(given, schema, wanted) : unshaped(given, wanted) };
}

/** A value without a schema. */
function unshaped(given: Generator, wanted: Wanted | undefined): Json {
  return wanted !== undefined && (wanted.fields.size > 0 || wanted.items !== null)
    ? valueFor(given, undefined, wanted)
    : comparedObject(given);
}

function reply(given: Generator, flow: CompiledFlow, command: Command): Settled {
  const agent = Object.hasOwn(flow.agents, command.name) ? flow.agents[command.name] : undefined;
  const name = toolFor(given, command, agent?.tools ?? []);
  if (name !== null) {
    const sample = command.input['tool'] === name ? sampleOf(given, flow, command) : undefined;
    const args = sample ?? valueFor(given, flow.tools[name]?.input ?? { type: 'object' });
    const toolCalls = [{ id: 'c0', name, args: args === true ? {} : args }];
    return { ok: true, value: { text: '', toolCalls } as Json, used: usedBy(flow, command, JSON.stringify(args)) };
  }
  const text = textFor(given, flow, command);
  return { ok: true, value: { text }, used: usedBy(flow, command, text) };
}

/** The tool that the call must or may request. */
function toolFor({ chance }: Generator, { input }: Command, tools: readonly string[]): string | null {
  if (typeof input['tool'] === 'string') return chance.oneIn(12) ? null : input['tool'];
  return tools.length > 0 && chance.oneIn(2) ? chance.pick(tools) : null;
}

function textFor(given: Generator, flow: CompiledFlow, command: Command): string {
  const { node: id, name } = command;
  const own = flow.agents[name]?.output;
  const sample = hasShape(own) ? undefined : sampleOf(given, flow, command);
  if (sample !== undefined) return typeof sample === 'string' ? sample : JSON.stringify(sample);
  const node = flow.nodes[id];
  const schema = node?.op === 'do' ? node.schema : undefined;
  return textOf(given, schema ?? own, given.literals.results.get(id));
}

/** A reply of the form that the prompt asks for. Absent if the notation gives none, and sometimes by chance. */
function sampleOf({ chance }: Generator, { nodes }: CompiledFlow, { node: id }: Command): Json | undefined {
  const node = nodes[id];
  const samples = node?.op === 'do' && node.effect.kind === 'model' ? (node.effect.samples ?? []) : [];
  return samples.length === 0 || chance.oneIn(5) ? undefined : chance.pick(samples);
}

function textOf(given: Generator, schema: Json | undefined, wanted: Wanted | undefined): string {
  const { chance, literals } = given;
  if (hasShape(schema))
    return chance.oneIn(30) ? 'not what was asked for' : JSON.stringify(valueFor(given, schema, wanted));
  if (wanted !== undefined && !chance.oneIn(4)) {
    if (wanted.fields.size > 0 || wanted.items !== null) return JSON.stringify(valueFor(given, undefined, wanted));
    if (wanted.values.size + wanted.texts.size > 0) return String(valueFor(given, { type: 'string' }, wanted));
  }
  if (compared(given).size > 0 && !chance.oneIn(3)) return JSON.stringify(comparedObject(given));
  if (literals.texts.length > 0 && !chance.oneIn(3)) return `Result.\n${chance.pick(literals.texts)}`;
  return chance.pick(['Here is the result.', 'It is 42.', 'Order A-7 was checked.', '']);
}

function hasShape(schema: Json | undefined): boolean {
  return typeof schema === 'object' && schema !== null && Object.keys(schema).length > 0;
}

/** Never more than the call reserved: a provider keeps its output limit. */
function usedBy(flow: CompiledFlow, command: Command, text: string): NonNullable<Settled['used']> {
  if (command.kind !== 'model') return {};
  const inputTokens = Math.ceil(JSON.stringify(command.input).length / 4);
  const cap = flow.agents[command.name]?.maxOutputTokens ?? Infinity;
  const outputTokens = Math.min(cap, Math.ceil(text.length / 4));
  const costMicros = costOf(priceIn(flow, command.name, command.target), { inputTokens, outputTokens });
  return { inputTokens, outputTokens, costMicros };
}

function answerFor(
  given: Generator,
  { choices }: Question,
  described: AskEffect['choices'],
): ReturnType<Future['answer']> {
  const { chance } = given;
  if (choices.length === 0 || chance.oneIn(25)) return null;
  const choice = chance.pick(choices);
  const declared = described.find(({ name }) => name === choice);
  const needs = declared?.needs;
  const edit =
    declared?.edit !== undefined && (needs === 'edit' || needs === 'either')
      ? { edit: valueFor(given, declared.edit) }
      : {};
  const text =
    needs === 'text' || (needs === 'either' && declared?.edit === undefined) ? { text: 'use order A-7' } : {};
  return { answer: { choice, by: 'rehearsal', ...edit, ...text }, afterMs: chance.below(5 * MINUTE) };
}
