/** A run that this process works on: its fold in memory, the end of its chain, and what it waits for. */
import type { Program } from '../../core/program.ts';
import { createProgram } from '../../core/program.ts';
import { evolve } from '../../core/evolve.ts';
import type { CompiledFlow } from '../../ir/nodes.ts';
import type { Fact, Refusal, RunId, RunState } from '../../ir/events.ts';
import { genesis } from '../journal/chain.ts';
import { decodeEvents } from '../journal/codec.ts';
import { Calls } from './calls.ts';
import type { RunEntryChange, StoredRun } from '../ports.ts';
import { graphText } from '../journal/chain.ts';
import { pure } from './pure.ts';
import { thawState } from '../journal/snapshot.ts';
import { createShelf } from '../journal/values.ts';
import type { Shelf } from '../journal/values.ts';

export interface Told {
  readonly fact: Fact;
  readonly done?: (refusal: Refusal | null) => void;
  readonly failed?: (error: Error) => void;
}

export interface Held {
  readonly run: RunId;
  readonly program: Program;
  readonly shelf: Shelf;
  readonly calls: Calls;
  state: RunState | null;
  seq: number;
  head: string;
  inbox: Told[];
  dirty: boolean;
  /** Whether what it owes the world is being performed; before that it can be told something, and be let go of again. */
  begun: boolean;
  /** Whether a turn of it is being stored: until then nobody has been asked or told anything. */
  storing: boolean;
  entry: RunEntryChange | null;
  cancelWake: (() => void) | null;
  /** Since the last snapshot: how much a reader would have to fold. */
  eventsSince: number;
  bytesSince: number;
  nextSnapshotAt: number;
}

export function hold(run: RunId, program: Program): Held {
  return {
    run,
    program,
    shelf: createShelf([]),
    calls: new Calls(),
    state: null,
    seq: 0,
    head: genesis(run, graphText(program.flow).print),
    inbox: [],
    dirty: false,
    begun: false,
    storing: false,
    entry: null,
    cancelWake: null,
    eventsSince: 0,
    bytesSince: 0,
    nextSnapshotAt: 0,
  };
}

/** Folds what is stored; the chain itself is checked by an audit, not on every load. */
export function restore(run: RunId, stored: StoredRun, program: Program): Held {
  const shelf = createShelf(stored.blobs);
  const held = { ...hold(run, program), shelf };
  if (stored.snapshot !== null) {
    held.state = thawState(stored.snapshot.body);
    held.seq = stored.snapshot.seq;
    held.head = stored.snapshot.hash;
  }
  for (const append of stored.appends) {
    if (append.after < held.seq) continue;
    for (const event of decodeEvents(program, append.body, append.after, append.at, shelf.unpack))
      held.state = evolve(held.state, event);
    held.seq = append.after + append.count;
    held.head = append.hash;
    held.eventsSince += append.count;
    held.bytesSince += append.body.length;
  }
  return held;
}

/** Programs are compiled once per graph, whoever runs it. */
export function createPrograms(): (flow: CompiledFlow) => Program {
  const programs = new Map<string, Program>();
  return (flow) => {
    let program = programs.get(flow.hash);
    if (program === undefined) {
      program = createProgram(flow, pure);
      programs.set(flow.hash, program);
    }
    return program;
  };
}
