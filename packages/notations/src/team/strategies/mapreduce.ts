/**
 * `mapreduce`: one agent makes a list of items, another works on each item alone, a third combines the results. The first
 * agent is corrected if its reply has no list, or a list longer than `protections.spawn`. It gets `MaxSplitterRetries` more tries.
 */
import type * as z from 'zod';
import type { MeterId, NodeId } from '@sluice-internal/kernel/ir';
import { agentName, int, name, record } from '@sluice-internal/compile/document';
import { quote } from '@sluice-internal/compile/expressions';
import type { Path } from '@sluice-internal/compile/source';
import { END, START, edgeShape } from '@sluice-internal/compile/picture';
import { errorOf, set } from '@sluice-internal/compile/lower';
import { agentShape } from '../drawing.ts';
import { part, success, type Lowering, type Place } from '../lowering.ts';
import type { Reading } from '../model.ts';
import { BRANCHES, OUTPUT, MESSAGE, reject, tell } from '../slots.ts';
import { addTeamTurn } from '../turn.ts';
import { addFork, lastMessage } from './fan-out.ts';
import { addPhaseTurn, type Phases } from './scattergather.ts';
import { lacking, strategy } from './strategy.ts';
import { fieldIn, nestedAt } from '../conditions.ts';

const ITEMS = 'items';
const TRIES = 'tries';
/** Bounds the tool rounds of all items together without `protections.spawn`. A list fits in one reply. */
const ITEMS_MAX = 10_000;

export const mapReduceSchema = record(() => ({
  Splitter: agentName().describe('The agent that makes the list.'),
  Mapper: agentName().describe('The agent that works on each item.'),
  Reducer: agentName().describe('The agent that combines the results.'),
  ItemsJsonPath: name().default('items').describe("Where the list is in the splitter's JSON; dots lead into objects."),
  MaxConcurrency: int({ min: 0 }).default(0).describe('How many items are worked on at once; 0 for all.'),
  MaxSplitterRetries: int({ min: 1 }).default(3).describe('How often the splitter is asked again if it gives no list.'),
}));
export type RawMapReduce = z.output<typeof mapReduceSchema>;

export const mapReduce = strategy({
  type: 'mapreduce',
  fields: () => ({ MapReduce: mapReduceSchema.optional().describe('Of `mapreduce`: its three agents.') }),
  endsItself: true,
  read({ MapReduce: raw }, reading) {
    if (raw === undefined) return lacking(reading, 'mapreduce', 'MapReduce');
    return checkMapReduce(raw, ['Selection', 'MapReduce'], reading);
  },
  turnsMax: () => 1,
  lower: (l, raw) => lowerMapReduce(l, raw, { hint: 'mapreduce', origin: 'mapreduce', next: success(l) }),
  draw: (raw) => ({
    nodes: [
      START,
      agentShape('split', 'split', raw.Splitter),
      agentShape('map', 'map', raw.Mapper),
      agentShape('reduce', 'reduce', raw.Reducer),
      END,
    ],
    edges: [
      edgeShape(START.id, 'split'),
      edgeShape('split', 'split', 'no list', true),
      edgeShape('split', 'map', `each of ${raw.ItemsJsonPath}`, false, 'branch'),
      edgeShape('map', 'reduce', null, false, 'join'),
      edgeShape('reduce', END.id),
    ],
    cycles: [{ nodes: ['split'], bound: `MaxSplitterRetries: ${raw.MaxSplitterRetries}` }],
  }),
});

export function checkMapReduce(raw: RawMapReduce, path: Path, reading: Reading): RawMapReduce {
  for (const role of ['Splitter', 'Mapper', 'Reducer'] as const) reading.agent(raw[role], [...path, role]);
  return raw;
}

export function lowerMapReduce(l: Lowering, raw: RawMapReduce, phases: Phases): NodeId {
  const { Splitter, ItemsJsonPath, MaxSplitterRetries } = raw;
  const { hint } = phases;
  const again = l.builder.fresh(`${hint}.split`);
  const mapped = addMapped(l, raw, phases);
  const found = fieldIn(`jsonIn(${MESSAGE})`, ItemsJsonPath);
  const take = l.kit.set(part(phases, 'items'), [set(ITEMS, found)], mapped);
  const { spawn } = l.builder.definitions.protections;
  const correction = `text("SPLIT ERROR (", ${TRIES}, ${quote(`/${MaxSplitterRetries}): answer with a JSON object that has a list${mostOf(spawn)} at \`${ItemsJsonPath}\`.`)})`;
  const retry = l.kit.set(
    { hint: `${hint}.correction:split`, origin: 'correction:split' },
    [set(TRIES, `${TRIES} + 1`), tell(correction, Splitter)],
    again,
  );
  const judged = l.kit.pick(
    part(phases, 'judged'),
    [
      { when: `type(${found}) == list${spawn === null ? '' : ` && size(${found}) <= ${spawn}`}`, to: take },
      { when: `${TRIES} <= ${MaxSplitterRetries}`, to: retry },
    ],
    addFailed(l, raw, hint),
  );
  addTeamTurn(l, {
    agent: Splitter,
    hint: `${hint}.split`,
    origin: `${l.prefix}${Splitter}`,
    enters: Splitter,
    begin: again,
    charges: triesMeter(l, raw, hint),
    visitsMax: l.meter === null ? 1 + MaxSplitterRetries : l.turnsMax,
    readsObject: true,
    samples: [['one'], ['one', 'two', 'three'], []].map((items) => nestedAt(ItemsJsonPath, items)),
    next: judged,
  });
  return l.kit.set(part(phases, 'start'), [set(TRIES, '1')], again);
}

/** Bounds the tries if no number of turns bounds the session. */
function triesMeter(l: Lowering, raw: RawMapReduce, hint: string): readonly MeterId[] {
  if (l.meter !== null) return [];
  const max = 1 + raw.MaxSplitterRetries;
  const over = addFailed(l, raw, hint);
  return [l.kit.visits(`tries:${hint}`, max, over, 'MaxSplitterRetries')];
}

/** The map phase and the reduce phase. An empty list skips the map phase. */
function addMapped(l: Lowering, raw: RawMapReduce, phases: Phases): NodeId {
  const { Reducer } = raw;
  const reduce = addPhaseTurn(l, Reducer, `${phases.hint}.reduce`, phases.next);
  const outputs = tell('null', Reducer, { outputs: BRANCHES, label: quote('[Item {n}]:') });
  const mapped = l.kit.set(part(phases, 'mapped'), [outputs, set(MESSAGE, lastMessage())], reduce);
  const nothing = tell(quote('The list of items is empty: nothing was mapped.'), Reducer);
  const none = l.kit.set(part(phases, 'none'), [nothing], reduce);
  const map = addMap(l, raw, phases, mapped);
  return l.kit.when(part(phases, 'some'), `size(${ITEMS}) == 0`, none, map);
}

/** Each item is a task of its own, without the history and without the other items. */
function addMap(l: Lowering, { Mapper, MaxConcurrency }: RawMapReduce, place: Place, next: NodeId): NodeId {
  const { spawn } = l.builder.definitions.protections;
  const done = l.builder.end({ state: 'completed', code: 'SUCCESS', output: MESSAGE });
  const head = addTeamTurn(l, {
    agent: Mapper,
    hint: `${place.hint}.map`,
    origin: `${l.prefix}${Mapper}`,
    enters: Mapper,
    input: { prompt: 'item == null ? "null" : text(item)' },
    shared: false,
    branch: true,
    visitsMax: spawn ?? ITEMS_MAX,
    next: done,
  });
  const fork = addFork(l, place, { each: ITEMS, as: 'item', head }, MaxConcurrency, next);
  // A longer list was not accepted.
  if (spawn !== null) l.shares.push({ counted: [head], of: [fork], max: spawn, atStart: 0 });
  return fork;
}

function addFailed(l: Lowering, { Splitter, ItemsJsonPath, MaxSplitterRetries }: RawMapReduce, hint: string): NodeId {
  const { spawn } = l.builder.definitions.protections;
  const message = `${Splitter} gave no JSON with a list${mostOf(spawn)} at \`${ItemsJsonPath}\` in ${1 + MaxSplitterRetries} tries`;
  const origin = `${l.prefix}${Splitter}`;
  return l.kit.set(
    { hint: `${hint}.unsplit`, origin },
    [set('error', errorOf({ type: 'SplitError', message: quote(message) }, origin)), reject(quote(message))],
    l.builder.failedEnd(OUTPUT),
  );
}

/** The longest list that is accepted, for messages. */
function mostOf(spawn: number | null): string {
  return spawn === null ? '' : ` of at most ${spawn} items`;
}
