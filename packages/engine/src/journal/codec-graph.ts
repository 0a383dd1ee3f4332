/**
 * The stored form of events that follow from the graph, which is nearly all of them. A run is pinned to the bytes of its
 * graph, so such an event is stored as a node id; the node's writes, request and target are not repeated.
 */
import { declaredOf, nameOf, questionOf } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import { CONTROLS_CHECK } from '@sluice-internal/kernel/ir';
import type { AskEffect, DoNode, Event, EventBody, Node, Origin, PickNode, Pins } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { optionalFieldsOf, quote, threadIn } from './codec-events.ts';
import type { PackValue, UnpackValue } from './codec-events.ts';

type EventOf<Type extends EventBody['type']> = Extract<EventBody, { type: Type }>;

/** An acceptance and the writes that follow it, in one form; null if they do not match the node. */
export function encodeAccepted(program: Program, judged: Event, written: Event | undefined): string | null {
  if (judged.type !== 'effect.judged' || judged.verdict !== 'accepted') return null;
  if (written?.type !== 'slots.written' || written.charge !== undefined) return null;
  const { thread, node: id, writes, to } = written;
  const { key } = judged;
  const node = program.flow.nodes[id];
  if (node?.op !== 'do' || to !== node.next || writes !== declaredOf(program, node).writes) return null;
  if (key.charCodeAt(thread.length) !== HASH || !key.startsWith(thread)) return null;
  return key.includes('#', thread.length + 1) ? null : `["a",${quote(key)},${quote(id)}]`;
}
const HASH = 35;

/** The event as a node id; null if the event does not follow from the node. */
export function encodeByGraph(program: Program, event: Event, pack: PackValue): string | null {
  switch (event.type) {
    case 'effect.requested':
      if (event.settles !== undefined) return null;
      return event.control === undefined ? requested(program, event) : checked(event);
    case 'call.judged':
      return passed(program, event);
    case 'route.picked':
      return picked(program, event);
    case 'slots.written':
      return written(program, event);
    case 'thread.forked':
      return forked(program, event);
    case 'thread.ended':
      return endsAt(program, event) ? `["z",${quote(event.thread)},${quote(event.node as string)}]` : null;
    case 'run.ended':
      return endsAt(program, event) ? `["y",${quote(event.node as string)}]` : null;
    case 'run.started':
      return started(program, event, pack);
    default:
      return null;
  }
}

/** Appends the decoded events; false if the form is not of this file. */
export function decodeByGraph(
  program: Program,
  stored: readonly Json[],
  at: number,
  unpack: UnpackValue,
  events: EventBody[],
): boolean {
  const fields = stored as Fields;
  if (fields[0] === 'a') {
    const [, key, id] = fields;
    const node = nodeOf(program, id, 'do');
    const writes = declaredOf(program, node).writes as EventOf<'slots.written'>['writes'];
    events.push({ type: 'effect.judged', key, verdict: 'accepted' });
    events.push({ type: 'slots.written', thread: threadIn(key), node: id, writes, to: node.next });
    return true;
  }
  const event = decoded(program, fields, at, unpack);
  if (event !== null) events.push(event);
  return event !== null;
}

/** The tag determines the types of the fields. Only the functions of this file write them. */
type Fields = [string, never, never, never, never, never, never];

function decoded(program: Program, fields: Fields, at: number, unpack: UnpackValue): EventBody | null {
  const [tag, a, b, c, d, e] = fields;
  switch (tag) {
    case 'd':
      return decodeRequested(program, fields, at);
    case 'i':
      return decodeAsked(program, fields, at);
    case 'c':
      return decodeChecked(fields, at);
    case 'n':
      return decodePassed(program, fields);
    case 'q': {
      const node = nodeOf(program, b, 'pick');
      const charge = declaredOf(program, node).visits;
      return { type: 'route.picked', thread: a, node: b, index: c, to: leadsTo(node, c) as string, charge };
    }
    case 'v': {
      const node = nodeOf(program, b, 'let');
      const declared = declaredOf(program, node);
      const writes = declared.writes as EventOf<'slots.written'>['writes'];
      return { type: 'slots.written', thread: a, node: b, writes, to: node.next, charge: declared.visits };
    }
    case 'k':
      return decodeForked(program, fields, at);
    case 'z':
      return { type: 'thread.ended', thread: a, ...endingAt(program, b) };
    case 'y':
      return { type: 'run.ended', ...endingAt(program, a) };
    case 'g':
    case 'h': {
      const { hash: flow, entry } = program.flow;
      const deadline = e === null ? null : (e as number) + at;
      const origin = tag === 'g' ? d : { pins: pinsIn(d) };
      return { type: 'run.started', run: b, flow, entry, input: unpack(a), seed: c, origin, deadline };
    }
    default:
      return null;
  }
}

function decodeRequested(program: Program, [, key, id, input, left, more]: Fields, at: number): EventBody {
  const node = nodeOf(program, id, 'do');
  const event = {
    type: 'effect.requested',
    thread: threadIn(key),
    key,
    node: id,
    kind: node.effect.kind,
    name: nameOf(node),
    input,
    deadline: typeof left === 'number' ? (left as number) + at : null,
    charge: declaredOf(program, node).visits,
  } as const;
  return more === undefined ? event : { ...event, ...(more as object) };
}

/** The request of the checks of a call. Null if it waits, holds an amount or asks a person. */
function checked(event: Event & EventOf<'effect.requested'>): string | null {
  const { key, thread, node, kind, name, input, deadline, control, again, question, holds, notBefore } = event;
  const isPlain = question === undefined && holds === undefined && notBefore === undefined;
  if (kind !== 'check' || name !== CONTROLS_CHECK || !isPlain || !isBare(event) || threadIn(key) !== thread)
    return null;
  const lead = `["c",${quote(key)},${quote(node)},${quote(input)},${control}`;
  const left = deadline === null ? null : deadline - event.at;
  if (again === true) return `${lead},${left},1]`;
  return left === null ? `${lead}]` : `${lead},${left}]`;
}

/** True if the event has none of the fields that only a call itself has. */
function isBare({
  charge,
  undo,
  watched,
  turns,
  print,
  words,
  paced,
  timed,
  until,
  signal,
}: EventOf<'effect.requested'>): boolean {
  const some = charge ?? undo ?? watched ?? turns ?? print ?? words ?? paced ?? timed ?? until ?? signal;
  return some === undefined;
}

function decodeChecked([, key, node, input, control, left, again]: Fields, at: number): EventBody {
  return {
    type: 'effect.requested',
    thread: threadIn(key),
    key,
    node,
    control,
    ...(again === undefined ? {} : { again: true }),
    kind: 'check',
    name: CONTROLS_CHECK,
    input,
    deadline: typeof left === 'number' ? (left as number) + at : null,
  };
}

/** All controls of a node have let its call pass at once. */
function passed({ flow }: Program, event: EventOf<'call.judged'>): string | null {
  const { thread, node: id, of, controls, writes, again, charge } = event;
  const node = flow.nodes[id];
  const { walk } = (node?.op === 'do' ? node.controls : undefined) ?? { walk: [] };
  if (!('walk' in event) || !hasFields(event.walk, ['at']) || event.walk.at !== walk.length) return null;
  if (writes !== undefined || again !== undefined || charge !== undefined || controls.length !== walk.length)
    return null;
  const isEach = controls.every(([name, verdict, reason], index) => {
    return name === walk[index]?.control && verdict === 'pass' && reason === undefined;
  });
  return isEach ? `["n",${quote(thread)},${quote(id)}${of === undefined ? '' : `,${quote(of)}`}]` : null;
}

function decodePassed(program: Program, [, thread, id, of]: Fields): EventBody {
  const { walk } = nodeOf(program, id, 'do').controls ?? { walk: [] };
  return {
    type: 'call.judged',
    thread,
    node: id,
    ...(of === undefined ? {} : { of }),
    controls: walk.map(({ control }) => [control, 'pass'] as const),
    walk: { at: walk.length },
  };
}

function decodeAsked(program: Program, [, key, id, input, left, run, more]: Fields, at: number): EventBody {
  const question = questionOf(run, nodeOf(program, id, 'do').effect as AskEffect, key, input);
  return decodeRequested(program, ['d', key, id, input, left, { ...(more as object), question } as never, more], at);
}

function decodeForked(program: Program, [, key, id, count, left]: Fields, at: number): EventBody {
  const node = nodeOf(program, id, 'fork');
  const { branches, visits: charge } = declaredOf(program, node);
  return {
    type: 'thread.forked',
    thread: threadIn(key),
    key,
    node: id,
    branches: branches as EventOf<'thread.forked'>['branches'],
    started: count,
    deadline: left === null ? null : (left as number) + at,
    exceptPeople: node.exceptPeople,
    into: node.into,
    gather: node.gather,
    charge,
  };
}

function written(program: Program, { thread, node: id, writes, to, charge }: EventOf<'slots.written'>): string | null {
  const node = program.flow.nodes[id];
  if (node?.op !== 'let' || to !== node.next) return null;
  const declared = declaredOf(program, node);
  return writes === declared.writes && charge === declared.visits ? `["v",${quote(thread)},${quote(id)}]` : null;
}

function started(program: Program, event: Event & EventOf<'run.started'>, pack: PackValue): string | null {
  const { run, flow, entry, input, seed, origin, deadline } = event;
  if (flow !== program.flow.hash || entry !== program.flow.entry) return null;
  const left = deadline === null ? 'null' : deadline - event.at;
  const folders = foldersOf(origin);
  const tag = folders === null ? 'g' : 'h';
  return `["${tag}",${pack(input)},${quote(run)},${seed},${JSON.stringify(folders ?? origin)},${left}]`;
}

/** The usual origin, in short: the folder of the document, the path from there to the work folder, and the store. */
type Folders = readonly [documentDir: string, toWorkRoot: string, store: string];

/** Null if the origin has anything else, or has it in another order. */
function foldersOf(origin: Origin): Folders | null {
  const { pins } = origin;
  if (pins === undefined || !hasFields(origin, ['pins']) || !hasFields(pins, PINNED)) return null;
  const { documentDir, workRoot, modules, store } = pins;
  if (documentDir === undefined || workRoot?.startsWith(documentDir) !== true || store === undefined) return null;
  if (modules === undefined || !hasFields(modules, [])) return null;
  return [documentDir, workRoot.slice(documentDir.length), store];
}
const PINNED: readonly string[] = ['documentDir', 'workRoot', 'modules', 'store'];

/** True if these are all fields of a plain object, in this order. */
function hasFields(plain: object, fields: readonly string[]): boolean {
  let count = 0;
  for (const field in plain) if (field !== fields[count++]) return false;
  return count === fields.length;
}

function pinsIn([documentDir, toWorkRoot, store]: Folders): Pins {
  return { documentDir, workRoot: `${documentDir}${toWorkRoot}`, modules: {}, store };
}

function requested(program: Program, event: Event & EventOf<'effect.requested'>): string | null {
  const { key, thread, node: id, kind, name, input, deadline, charge, undo } = event;
  const node = program.flow.nodes[id];
  if (node?.op !== 'do' || node.effect.kind !== kind || nameOf(node) !== name) return null;
  if (undo !== undefined || charge !== declaredOf(program, node).visits || threadIn(key) !== thread) return null;
  const lead = `["d",${quote(key)},${quote(id)},${quote(input)}`;
  const left = deadline === null ? 'null' : deadline - event.at;
  const more = optionalFieldsOf(event);
  const run = runOfQuestion(node, event);
  if (more !== null && run !== null) {
    const others = JSON.stringify({ ...more, question: undefined });
    return `["i"${lead.slice(4)},${left},${quote(run)}${others === '{}' ? '' : `,${others}`}]`;
  }
  if (more !== null) return `${lead},${left},${JSON.stringify(more)}]`;
  return deadline === null ? `${lead}]` : `${lead},${left}]`;
}

/** The run in the id of a question whose other parts are those of its node. Null if there is no such question. */
function runOfQuestion(node: DoNode, { question, key, input }: EventOf<'effect.requested'>): string | null {
  // The fields of approvers may come back in another order.
  if (question === undefined || question.approvers !== undefined) return null;
  const run = question.id.slice(2, question.id.indexOf('.'));
  if (node.effect.kind !== 'ask') return null;
  return JSON.stringify(questionOf(run, node.effect, key, input)) === JSON.stringify(question) ? run : null;
}

function forked(program: Program, event: Event & EventOf<'thread.forked'>): string | null {
  const { thread, key, node: id, branches, started, deadline, exceptPeople, into, gather, charge } = event;
  const node = program.flow.nodes[id];
  if (node?.op !== 'fork' || into !== node.into || gather !== node.gather || threadIn(key) !== thread) return null;
  const declared = declaredOf(program, node);
  if (branches !== declared.branches || charge !== declared.visits || exceptPeople !== node.exceptPeople) return null;
  return `["k",${quote(key)},${quote(id)},${started},${deadline === null ? 'null' : deadline - event.at}]`;
}

function picked(program: Program, event: EventOf<'route.picked'>): string | null {
  const { thread, node: id, index, to, charge } = event;
  const node = program.flow.nodes[id];
  if (node?.op !== 'pick' || leadsTo(node, index) !== to || charge !== declaredOf(program, node).visits) return null;
  return `["q",${quote(thread)},${quote(id)},${index}]`;
}

function leadsTo(node: PickNode, index: number): string | undefined {
  return index === -1 || index === node.cases.length ? node.otherwise : node.cases[index]?.to;
}

function endsAt(program: Program, event: EventOf<'thread.ended' | 'run.ended'>): boolean {
  const node = event.node === undefined ? undefined : program.flow.nodes[event.node];
  if (node?.op !== 'end' || node.state !== event.state || node.code !== event.code) return false;
  const { output, visits } = declaredOf(program, node);
  return output !== null && event.output === output && event.charge === visits;
}

function endingAt(program: Program, id: string): Omit<EventOf<'run.ended'>, 'type'> {
  const node = nodeOf(program, id, 'end');
  const { output, visits: charge } = declaredOf(program, node);
  const ending = { node: id, state: node.state, code: node.code, output, charge };
  return ending as Omit<EventOf<'run.ended'>, 'type'>;
}

function nodeOf<Op extends Node['op']>(program: Program, id: string, op: Op): Extract<Node, { op: Op }> {
  const node = program.flow.nodes[id];
  if (node?.op !== op) throw new Error(`the journal refers to a node \`${id}\` that is not in the graph of its run`);
  return node as Extract<Node, { op: Op }>;
}
