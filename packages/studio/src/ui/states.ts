/** States of runs and nodes: a word, a colour and an icon each. A state is never a colour alone. */
import type { IconName } from './icon.tsx';

export type Tone = 'ok' | 'running' | 'waiting' | 'failed' | 'undone' | 'idle';

export interface Shown {
  readonly word: string;
  readonly tone: Tone;
  readonly icon: IconName;
}

const RUNS: { readonly [status: string]: Shown } = {
  pending: { word: 'Not begun', tone: 'idle', icon: 'clock' },
  running: { word: 'Running', tone: 'running', icon: 'ring' },
  suspended: { word: 'Waits', tone: 'waiting', icon: 'clock' },
  completed: { word: 'Completed', tone: 'ok', icon: 'check' },
  failed: { word: 'Failed', tone: 'failed', icon: 'cross' },
  cancelled: { word: 'Cancelled', tone: 'idle', icon: 'dash' },
};

/** Ends that are no failure, and yet not what was asked for. */
const HALF = new Set(['UNVERIFIED', 'PARTIAL_SUCCESS']);

export function runState(status: string, code: string | null, questions = 0): Shown {
  const known = RUNS[status] ?? { word: status, tone: 'idle', icon: 'dash' };
  if (status === 'suspended' && questions > 0) return { word: 'Waits for approval', tone: 'waiting', icon: 'person' };
  if (status === 'running' && questions > 0) return { word: 'Waits for approval', tone: 'waiting', icon: 'person' };
  if (status === 'completed' && code !== null && HALF.has(code)) return { ...known, tone: 'waiting', icon: 'half' };
  return known;
}

const NODES: { readonly [state: string]: Shown } = {
  idle: { word: 'idle', tone: 'idle', icon: 'circle' },
  running: { word: 'running', tone: 'running', icon: 'ring' },
  waiting: { word: 'waiting', tone: 'waiting', icon: 'person' },
  done: { word: 'done', tone: 'ok', icon: 'check' },
  failed: { word: 'failed', tone: 'failed', icon: 'cross' },
  skipped: { word: 'skipped', tone: 'idle', icon: 'dash' },
  undone: { word: 'undone', tone: 'undone', icon: 'undo' },
};

export function nodeState(state: string): Shown {
  return NODES[state] ?? { word: state, tone: 'idle', icon: 'circle' };
}

/** The effects that a person reads twice. */
export function effectTone(effect: string): Tone {
  return effect === 'financial' || effect === 'irreversible' || effect === 'destructive' ? 'failed' : 'idle';
}
