/**
 * Random flows whose outcome does not depend on time: chains, bounded loops, forks, retries, failures, questions and
 * compensations, all from one integer. What a crashed run comes to can therefore be compared with one that never crashed.
 */
import { hash } from 'node:crypto';
import { seal } from '@sluice-internal/compile/prove';
import type { CompiledFlow, DoNode, Input, Meter, Node, NodeId, Retry } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Head } from '../../packages/kernel/src/ir/nodes.ts';
import { createChance } from './chance.ts';
import type { Chance } from './chance.ts';

export interface Scene {
  readonly run: string;
  readonly seed: number;
  readonly flow: CompiledFlow;
  readonly input: Json;
}

/** What somebody does about a question, told by its `about`. */
export const ANSWERED_AT_ONCE = 'at-once';
const ANSWERED_BY_A_PERSON = 'by-a-person';
export const CANCELLED = 'cancelled';
const EXPIRING = 'expiring';

export function sceneOf(seed: number): Scene {
  const draft = new Draft(createChance(seed));
  return { run: `k_${seed}`, seed, flow: draft.flow(`random-${seed}`), input: { acc: `s${seed}` } };
}

const LONG_MS = 3_600_000;
/** More than the kills of a round: a call that was in flight at too many crashes is asked about, and is not made again. */
const RECALLS = 1_000;
const RETRY: Retry = { max: 3, baseMs: 4, capMs: 30, on: ['transient'] };

class Draft {
  readonly #chance: Chance;
  readonly #nodes: { [id: NodeId]: Node } = {};
  readonly #meters: { [id: string]: Meter } = {};
  #count = 0;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  flow(id: string): CompiledFlow {
    this.#nodes['done'] = {
      op: 'end',
      label: { name: 'done', enters: 'done' },
      state: 'completed',
      code: 'SUCCESS',
      output: '{"acc": acc}',
    };
    this.#nodes['fail'] = {
      op: 'end',
      label: { name: 'fail', enters: 'fail' },
      state: 'failed',
      code: 'error',
      output: '{"acc": acc}',
    };
    this.#nodes['entry'] = {
      op: 'let',
      label: { name: 'entry' },
      writes: [{ slot: 'acc', mode: 'set', value: 'input.acc' }],
      next: this.#chain(3 + this.#chance.below(5), { depth: 0, fail: 'fail', alone: true }, 'done'),
    };
    const agent = {
      id: 'a',
      name: 'a',
      model: null,
      instructions: 'say it',
      tools: [],
      output: null,
      maxOutputTokens: null,
      temperature: null,
    };
    const body = { id, entry: 'entry', fail: 'fail', nodes: this.#nodes, meters: this.#meters, agents: { a: agent } };
    return seal({ ir: 1, notation: 'test', tools: {}, models: {}, least: {}, ...body }, (text) =>
      hash('sha256', text, 'hex'),
    );
  }

  /** Built from its end, so that each part knows where it goes on. */
  #chain(length: number, place: Place, next: NodeId): NodeId {
    let to = next;
    for (let index = 0; index < length; index++) to = this.#part(place, to);
    return to;
  }

  #part(place: Place, next: NodeId): NodeId {
    const { depth, alone } = place;
    const kinds: [weight: number, make: () => NodeId][] = [
      [6, () => this.#effect(place, next)],
      [2, () => this.#model(place, next)],
      [2, () => this.#pick(place, next)],
      [alone ? 2 : 0, () => this.#loop(place, next)],
      [depth < 2 ? 2 : 0, () => this.#forkOverHeads(place, next)],
      [depth < 2 ? 2 : 0, () => this.#forkOverList(place, next)],
      [1, () => this.#ask(place, next, this.#chance.oneOf([ANSWERED_AT_ONCE, ANSWERED_BY_A_PERSON, EXPIRING]))],
      // Only where nothing else goes on is it certain what a cancellation finds.
      [depth === 0 ? 0.5 : 0, () => this.#ask(place, next, CANCELLED)],
    ];
    return this.#chance.weighted(kinds)();
  }

  #effect(place: Place, next: NodeId, more: Input = {}): NodeId {
    const id = this.#id('call');
    const chance = this.#chance;
    const fate = chance.weighted<Input>([
      [6, {}],
      [2, { fails: `${1 + chance.below(3)}` }],
      [2, { lost: `${1 + chance.below(2)}` }],
      [0.4, { fatal: 'true' }],
      [1, { bytes: `${2000 + chance.below(20_000)}` }],
    ]);
    const fields = Object.entries({ at: `'${id}'`, acc: 'acc', ...fate, ...more }).map(
      ([field, source]) => `"${field}": ${source}`,
    );
    const input = { args: `{${fields.join(', ')}}` };
    const undo = chance.flip(0.4)
      ? { undo: { tool: 'revert', input: { at: `'${id}'`, acc: 'acc' }, timeoutMs: LONG_MS, recalls: RECALLS } }
      : {};
    const writes = [{ slot: 'acc', mode: 'set' as const, value: 'it.acc' }];
    return this.#do(id, {
      effect: { kind: 'tool', tool: 'apply', input, reserve: { toolCalls: 1 } },
      writes,
      next,
      ...undo,
      ...this.#failing(place, next),
    });
  }

  #model(place: Place, next: NodeId): NodeId {
    const id = this.#id('say');
    const effect = { kind: 'model' as const, agent: 'a', input: { prompt: 'acc' }, reserve: { modelCalls: 1 } };
    return this.#do(id, {
      effect,
      writes: [{ slot: 'acc', mode: 'set', value: 'it.text' }],
      next,
      ...this.#failing(place, next),
    });
  }

  #ask(place: Place, next: NodeId, about: string): NodeId {
    const id = this.#id('ask');
    const base = {
      input: { message: "'go on?'", acc: 'acc' },
      reserve: {},
      choices: [{ name: 'yes' }, { name: 'no' }],
      onExpiry: 'no',
      code: 'CONFIRM_REQUIRED' as const,
    };
    const effect = { kind: 'ask' as const, about, askedBy: 'flow', ...base };
    const writes = [{ slot: 'said', mode: 'set' as const, value: 'it.choice' }];
    const timeoutMs = about === EXPIRING ? 20 + this.#chance.below(60) : LONG_MS;
    return this.#do(id, { effect, writes, next, failed: [], fail: place.fail, timeoutMs });
  }

  #pick(place: Place, next: NodeId): NodeId {
    const id = this.#id('pick');
    const ways = [this.#chain(1, place, next), this.#chain(this.#chance.below(2), place, next)] as const;
    this.#nodes[id] = {
      op: 'pick',
      label: { name: id, enters: id },
      cases: [{ when: "acc < '8'", to: ways[0] }],
      otherwise: ways[1],
    };
    return id;
  }

  #loop(place: Place, next: NodeId): NodeId {
    const id = this.#id('loop');
    const body = this.#chain(1 + this.#chance.below(2), { ...place, depth: place.depth + 1, alone: false }, id);
    this.#meters[id] = { unit: 'visits', max: 1 + this.#chance.below(4), over: next, label: id };
    this.#nodes[id] = {
      op: 'let',
      label: { name: id, enters: id },
      charges: [id],
      writes: [{ slot: 'turns', mode: 'append', value: 'acc' }],
      next: body,
    };
    return id;
  }

  #forkOverHeads(place: Place, next: NodeId): NodeId {
    const end = this.#branchEnd('completed');
    const inside = { depth: place.depth + 1, fail: this.#branchEnd('failed'), alone: place.alone };
    const heads: Head[] = Array.from({ length: 2 + this.#chance.below(3) }, (_, index) => ({
      name: `h${index}`,
      to: this.#chain(1 + this.#chance.below(3), inside, end),
    }));
    return this.#fork(place, { heads }, heads.length, next);
  }

  #forkOverList(place: Place, next: NodeId): NodeId {
    const end = this.#branchEnd('completed');
    // All branches share these nodes, and so a meter among them would be shared by chance.
    const inside = { depth: place.depth + 1, fail: this.#branchEnd('failed'), alone: false };
    const count = this.#chance.below(5);
    const first = this.#effect(inside, this.#chain(this.#chance.below(2), inside, end), { item: 'item' });
    const each = `[${Array.from({ length: count }, (_, index) => `'i${index}'`).join(', ')}]`;
    return this.#fork(place, { each, as: 'item', head: first }, count, next);
  }

  #fork(place: Place, over: Extract<Node, { op: 'fork' }>['over'], count: number, next: NodeId): NodeId {
    const id = this.#id('fork');
    const then = this.#effect(place, next, { joined: 'joined' });
    const widthMax = this.#chance.oneOf([0, 1, 2, count]);
    this.#nodes[id] = {
      op: 'fork',
      label: { name: id, enters: id },
      over,
      widthMax,
      need: 'all',
      eager: false,
      timeoutMs: null,
      into: 'joined',
      gather: [],
      next: then,
      ...this.#failing(place, then),
    };
    return id;
  }

  #branchEnd(state: 'completed' | 'failed'): NodeId {
    const id = this.#id(state);
    this.#nodes[id] = {
      op: 'end',
      label: { name: id, enters: id },
      state,
      code: state === 'completed' ? 'SUCCESS' : 'error',
      output: 'acc',
    };
    return id;
  }

  /** Half of the failures are handled where they happen; the others end the thread, which then undoes what it did. */
  #failing(place: Place, next: NodeId): Pick<DoNode, 'failed' | 'fail'> {
    return { failed: this.#chance.flip(0.5) ? [{ when: "error.class == 'fatal'", to: next }] : [], fail: place.fail };
  }

  #do(id: NodeId, node: Pick<DoNode, 'effect' | 'writes' | 'next' | 'failed' | 'fail'> & Partial<DoNode>): NodeId {
    this.#nodes[id] = {
      op: 'do',
      label: { name: id, enters: id },
      timeoutMs: LONG_MS,
      retry: RETRY,
      recalls: RECALLS,
      ...node,
    };
    return id;
  }

  #id(hint: string): NodeId {
    this.#count += 1;
    return `${hint}${this.#count}`;
  }
}

interface Place {
  readonly depth: number;
  /** Where an unhandled failure goes. */
  readonly fail: NodeId;
  /** Whether no second thread can come by here. */
  readonly alone: boolean;
}
