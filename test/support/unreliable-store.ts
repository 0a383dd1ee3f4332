/** A store whose connection a test cuts. Also a commit can be the last thing that it does, with or without the answer. */
import { SluiceError } from '@sluice-internal/engine/ports';
import type { Store } from '@sluice-internal/engine/ports';

export interface UnreliableStore {
  readonly store: Store;
  isAway: boolean;
  /** Which commit is lost from now on, counted from 1: its request, or its answer. The store is away after it until `isAway` is set. */
  lose: { readonly commit: number; readonly what: 'request' | 'answer' } | null;
  commits: number;
}

export function unreliable(inner: Store): UnreliableStore {
  const reach = (): void => {
    if (state.isAway) throw new SluiceError('journal-unavailable', 'the store cannot be reached: connection refused');
  };
  const wrapped = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get: (target, name) => {
        const value = target[name as keyof Port] as unknown;
        if (typeof value !== 'function') return value;
        return async (...given: unknown[]) => {
          reach();
          return (value as (...all: unknown[]) => unknown).apply(target, given);
        };
      },
    });
  const commit: Store['journal']['commit'] = async (worker, appends) => {
    reach();
    state.commits += 1;
    const { lose } = state;
    const isLost = lose?.commit === state.commits;
    if (isLost && lose.what === 'request') state.isAway = true;
    reach();
    const results = await inner.journal.commit(worker, appends);
    if (isLost) state.isAway = true;
    reach();
    return results;
  };
  const { journal, leases, mail, index, shared } = inner;
  const state: UnreliableStore = {
    isAway: false,
    lose: null,
    commits: 0,
    store: {
      ...inner,
      journal: { ...wrapped(journal), ...portOf(wrapped(journal), journal), commit },
      leases: wrapped(leases),
      mail: wrapped(mail),
      index: wrapped(index),
      shared: wrapped(shared),
    },
  };
  return state;
}

/** The functions of a port by name, so that one of them can be replaced. */
function portOf<Port extends object>(wrapped: Port, names: Port): Port {
  return Object.fromEntries(Object.keys(names).map((name) => [name, wrapped[name as keyof Port]])) as Port;
}
