/**
 * What is known before a unit runs, whatever was skipped on the way: whose output may be passed on, which variables are
 * stored, and what kind of thing `{{input}}` is. One walk over the steps, changed in place, so that it stays linear.
 */
import type { Step, Unit } from './model.ts';

export interface Facts {
  /** The agents whose output may be the input here; null stands for none: the run's own input, or a collected batch. */
  readonly upstream: ReadonlySet<string | null>;
  /** True where a variable is stored on every way that leads here, false where only on some. */
  readonly stored: ReadonlyMap<string, boolean>;
  /** Variables that may hold what a Collect gathered, which is joined only where it is read. */
  readonly listed: ReadonlySet<string>;
  readonly input: ReadonlySet<InputKind>;
}
/** `start`: what the run was given. `text`: an agent's reply. `list`: the outputs of a batch, still apart. */
export type InputKind = 'start' | 'text' | 'list';

export interface Walk {
  readonly facts: Facts;
  pass(unit: Unit): void;
}

export function walk(): Walk {
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

  return {
    facts: { upstream, stored, listed, input },
    pass(unit) {
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

/** Whether a step, once reached, ends with an output or ends the run. */
export function isSure({ mode, onError }: Step): boolean {
  return mode !== 'Conditional' && onError !== 'Skip';
}

/** The branches whose output may be the one that goes on, the likeliest first: earlier ones only while later may be skipped. */
export function lastBranches(branches: readonly Step[]): readonly Step[] {
  return branches.slice(Math.max(branches.findLastIndex(isSure), 0)).toReversed();
}
