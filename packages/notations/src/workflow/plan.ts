/**
 * Facts that hold before a unit runs, on every path to it: the agents whose output may be the input, the stored variables, and the
 * kind of `{{input}}`. One linear walk over the steps, changed in place.
 */
import { INPUT, type Hole, type Step, type Unit } from './model.ts';
import type { Expr } from '@sluice-internal/kernel/ir';
import { isIdentifier, quote } from '@sluice-internal/compile/expressions';

export interface Facts {
  /** The agents whose output may be the input here; null stands for none: the run's own input, or a collected batch. */
  readonly upstream: ReadonlySet<string | null>;
  /** True where a variable is stored on every way that leads here, false where only on some. */
  readonly stored: ReadonlyMap<string, boolean>;
  /** Variables that may hold the list of a Collect step. The list is joined when it is read. */
  readonly listed: ReadonlySet<string>;
  readonly input: ReadonlySet<InputKind>;
}
/** `start`: the input of the run. `text`: the reply of an agent. `list`: the outputs of a batch, not yet joined. */
type InputKind = 'start' | 'text' | 'list';

function walk() {
  const upstream = new Set<string | null>([null]);
  const stored = new Map<string, boolean>();
  const listed = new Set<string>();
  const input = new Set<InputKind>(['start']);

  const handOn = (kind: InputKind, agents: readonly (string | null)[], surely: boolean): void => {
    if (surely) {
      upstream.clear();
      input.clear();
    }
    for (const agent of agents) upstream.add(agent);
    input.add(kind);
  };
  const store = ({ output, mode }: Step, surely: boolean): void => {
    if (output === null) return;
    stored.set(output, surely || stored.get(output) === true);
    if (surely) listed.delete(output);
    if (mode === 'Collect') listed.add(output);
  };

  const facts: Facts = { upstream, stored, listed, input };
  return {
    facts,
    pass(unit: Unit): void {
      if (unit.is === 'step') {
        const surely = isSure(unit.step);
        store(unit.step, surely);
        handOn('text', [unit.step.agent], surely);
        return;
      }
      for (const branch of unit.branches) store(branch, isSure(branch));
      if (unit.collect !== null) {
        store(unit.collect, true);
        handOn('list', [null], true);
        return;
      }
      const last = lastBranches(unit.branches);
      handOn(
        'text',
        last.map(({ agent }) => agent),
        last.some(isSure),
      );
    },
  };
}

/** True if a step always gives an output or ends the run. */
export function isSure({ mode, onError }: Step): boolean {
  return mode !== 'Conditional' && onError !== 'Skip';
}

/**
 * The branches whose output may continue, the most likely first. An earlier branch counts only if the later ones may be
 * skipped.
 */
export function lastBranches(branches: readonly Step[]): readonly Step[] {
  return branches.slice(Math.max(branches.findLastIndex(isSure), 0)).toReversed();
}

export interface Plan {
  readonly units: readonly Planned[];
  /** The output of the run: that of the last executed step. */
  readonly output: Expr;
  /** True if a slot must keep the author of the input, because it depends on skipped steps. */
  readonly tracks: boolean;
  /** True if a failed step may be skipped. */
  readonly skips: boolean;
}

export type Planned = Unit & {
  /** `{{input}}` as a condition reads it. */
  readonly input: Expr;
  readonly calls: ReadonlyMap<Step, PlannedCall>;
};

export interface PlannedCall {
  readonly prompt: Expr;
  readonly upstream: Expr;
  /** True if the agent may get its own output as input, so that the run must check. */
  readonly mayMeetItself: boolean;
}

/** The slot for the author of the input. */
export const UPSTREAM = '_from';

export function planOf(units: readonly Unit[], check: (unit: Unit, facts: Facts) => void): Plan {
  const steps = walk();
  const { facts } = steps;
  const planned: Planned[] = [];
  let tracks = false;
  let skips = false;
  for (const unit of units) {
    check(unit, facts);
    const calls = new Map<Step, PlannedCall>();
    for (const step of unit.is === 'batch' ? unit.branches : [unit.step]) {
      const call = callOf(step, facts);
      calls.set(step, call);
      tracks ||= call.upstream === UPSTREAM;
      skips ||= step.onError === 'Skip';
    }
    planned.push({ ...unit, input: inputText(facts.input), calls });
    steps.pass(unit);
  }
  return { units: planned, output: inputText(facts.input), tracks, skips };
}

function callOf(step: Step, facts: Facts): PlannedCall {
  const { upstream } = facts;
  const [only = null] = upstream;
  // From its second iteration on, a loop gets its own output.
  const known = upstream.size === 1 && step.mode !== 'Loop';
  return {
    prompt: promptText(step, facts),
    upstream: known ? (only === null ? 'null' : quote(only)) : UPSTREAM,
    mayMeetItself: upstream.size > 1 && upstream.has(step.agent),
  };
}

const SEPARATOR = '\n\n---\n\n';
/** The output that is passed on; not there before the first one. */
export const HANDED = '_in';

/** `{{input}}` where it may be any of these kinds. */
function inputText(kinds: ReadonlySet<InputKind>): Expr {
  const known = kinds.has('list') ? (kinds.has('text') ? oneOrMany(HANDED) : joined(HANDED)) : HANDED;
  if (!kinds.has('start')) return known;
  return kinds.size === 1
    ? 'text(input)'
    : `${HANDED} == null ? text(input) : ${kinds.has('list') ? `(${known})` : known}`;
}

function promptText(step: Step, facts: Facts): Expr {
  const kinds = step.mode === 'Loop' ? new Set<InputKind>([...facts.input, 'text']) : facts.input;
  const operands: Expr[] = [];
  let plain = '';
  const flush = (): void => {
    if (plain !== '') operands.push(quote(plain));
    plain = '';
  };
  for (const piece of step.prompt) {
    if ('text' in piece) plain += piece.text;
    else if (piece.name !== INPUT && !facts.stored.has(piece.name)) plain += piece.written;
    else {
      flush();
      operands.push(piece.name === INPUT ? inputText(kinds) : variableText(piece, facts));
    }
  }
  flush();
  const [only = '""'] = operands;
  return operands.length > 1 ? `text(${operands.join(', ')})` : only;
}

/** The slot of a variable. A name that is not an identifier is encoded, under a prefix that other names never have. */
export function slotOf(variable: string): string {
  const plain = `v_${variable}`;
  if (isIdentifier(plain)) return plain;
  return `w_${[...variable].map((char) => (/[A-Za-z0-9]/.test(char) ? char : `_${char.codePointAt(0)?.toString(16) ?? ''}_`)).join('')}`;
}

/** A variable that may not be stored yet stays in the prompt as text. */
function variableText(hole: Hole, { stored, listed }: Facts): Expr {
  const slot = slotOf(hole.name);
  const value = listed.has(hole.name) ? oneOrMany(slot) : slot;
  return stored.get(hole.name) === true
    ? value
    : `${slot} == null ? ${quote(hole.written)} : ${value === slot ? slot : `(${value})`}`;
}

function joined(slot: string): Expr {
  return `join(${slot}, ${quote(SEPARATOR)})`;
}

function oneOrMany(slot: string): Expr {
  return `type(${slot}) == list ? ${joined(slot)} : ${slot}`;
}
