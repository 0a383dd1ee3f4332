/**
 * `mapreduce`: one agent makes a list of items, another works on each by itself, a third puts the results together. A
 * splitter whose answer has no list is told so and asked again, a bounded number of times.
 */
import type { Expr, NodeId } from '../../../../ir/nodes.ts';
import { object, quote } from '../../../expressions/cel-text.ts';
import { addFork } from './fan-out.ts';
import { lastSaid } from './fan-out-end.ts';
import { addLet, addPick } from '../lowering.ts';
import type { Lowering } from '../lowering.ts';
import type { Phases } from './scattergather.ts';
import type { RawMapReduce } from '../schema/phases.ts';
import { BRANCHES, SAID, set, tell } from '../slots.ts';
import { fieldIn } from './structured.ts';
import { addTeamTurn } from '../turn.ts';

const ITEMS = 'items';
const TRIES = 'tries';

export function lowerMapReduce(l: Lowering, raw: RawMapReduce, { hint, origin, next }: Phases): NodeId {
  const { Splitter, Reducer, ItemsJsonPath, MaxSplitterRetries } = raw;
  const again = l.builder.fresh(`${hint}.split`);
  const reduce = addTeamTurn(l, {
    agent: Reducer,
    hint: `${hint}.reduce`,
    origin: `${l.prefix}${Reducer}`,
    enters: Reducer,
    next,
  });
  const mapped = addLet(
    l,
    `${hint}.mapped`,
    origin,
    [tell('null', Reducer, { outputs: BRANCHES, label: quote('[Item {n}]:') }), set(SAID, lastSaid())],
    reduce,
  );
  const none = addLet(
    l,
    `${hint}.none`,
    origin,
    [tell(quote('The list of items is empty: nothing was mapped.'), Reducer)],
    reduce,
  );
  const map = addMap(l, raw, hint, origin, mapped);
  const chosen = addPick(l, `${hint}.some`, origin, [{ when: `size(${ITEMS}) == 0`, to: none }], map);
  const found = fieldIn(`jsonIn(${SAID})`, ItemsJsonPath);
  const take = addLet(l, `${hint}.items`, origin, [set(ITEMS, found)], chosen);
  const retry = addLet(
    l,
    `${hint}.correction:split`,
    'correction:split',
    [
      set(TRIES, `${TRIES} + 1`),
      tell(
        `text("SPLIT ERROR (", ${TRIES}, ${quote(`/${MaxSplitterRetries}): answer with a JSON object that has a list at \`${ItemsJsonPath}\`.`)})`,
        Splitter,
      ),
    ],
    again,
  );
  const judged = addPick(
    l,
    `${hint}.judged`,
    origin,
    [
      { when: `type(${found}) == list`, to: take },
      { when: `${TRIES} <= ${MaxSplitterRetries}`, to: retry },
    ],
    addFailed(l, raw, hint),
  );
  // Where no number of turns bounds the session, the number of tries does.
  const tries =
    l.meter === null
      ? [
          l.builder.meter(`tries:${hint}`, {
            unit: 'visits',
            max: 1 + MaxSplitterRetries,
            over: addFailed(l, raw, hint),
            label: 'MaxSplitterRetries',
          }),
        ]
      : [];
  addTeamTurn(l, {
    agent: Splitter,
    hint: `${hint}.split`,
    origin: `${l.prefix}${Splitter}`,
    enters: Splitter,
    begin: again,
    charges: tries,
    visitsMax: l.meter === null ? 1 + MaxSplitterRetries : l.turnsMax,
    next: judged,
  });
  return addLet(l, `${hint}.start`, origin, [set(TRIES, '1')], again);
}

/** Each item is a task of its own, without the history and without the other items. */
function addMap(
  l: Lowering,
  { Mapper, MaxConcurrency }: RawMapReduce,
  hint: string,
  origin: string,
  next: NodeId,
): NodeId {
  const done = l.builder.end({ state: 'completed', code: 'SUCCESS', output: SAID });
  const head = addTeamTurn(l, {
    agent: Mapper,
    hint: `${hint}.map`,
    origin: `${l.prefix}${Mapper}`,
    enters: Mapper,
    input: { prompt: 'item == null ? "null" : text(item)' },
    shared: false,
    visitsMax: ITEMS_MAX,
    next: done,
  });
  return addFork(l, hint, origin, { each: ITEMS, as: 'item', head }, MaxConcurrency, next);
}

/** How many items' tool rounds are counted at most; a list is only as long as one reply. */
const ITEMS_MAX = 10_000;

function addFailed(l: Lowering, { Splitter, ItemsJsonPath, MaxSplitterRetries }: RawMapReduce, hint: string): NodeId {
  const message: Expr = quote(
    `${Splitter} gave no JSON with a list at \`${ItemsJsonPath}\` in ${1 + MaxSplitterRetries} tries`,
  );
  const error = object([
    ['class', quote('semantic')],
    ['type', quote('SplitError')],
    ['message', message],
    ['node', quote(`${l.prefix}${Splitter}`)],
    ['code', quote('REPEATED_FAILURE')],
  ]);
  return addLet(l, `${hint}.unsplit`, `${l.prefix}${Splitter}`, [set('error', error)], l.builder.failedEnd(SAID));
}
