/** The run that the page shows, and the event that it is at. */
import {
  createContext,
  use,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
  type ReactElement,
  type ReactNode,
} from 'react';
import type { RunView } from '@sluice-internal/wire';
import { RunStore, type RunSnapshot } from '../data/run-store.ts';
import { queries } from '../data/server.ts';
import type { RunReport } from '../data/types.ts';
import { useParameter, useParameters } from '../data/url.ts';

export interface ShownRun extends RunSnapshot {
  readonly report: RunReport;
  readonly store: RunStore;
  /** The journal event that is shown. */
  readonly at: number;
  /** The page shows the last event, and goes on with the run. */
  readonly isAtEnd: boolean;
  /** The view at that event; the last one that is known while it is being read. */
  readonly view: RunView;
  readonly go: (at: number) => void;
  /** The node that is selected. */
  readonly node: string | undefined;
  readonly select: (node: string | undefined) => void;
  readonly follow: boolean;
  readonly setFollow: (follow: boolean) => void;
}

const Context = createContext<ShownRun | null>(null);

export function useRun(): ShownRun {
  const run = use(Context);
  if (run === null) throw new Error('there is no run here');
  return run;
}

/** One store for a run while its page is open. */
export function useRunStore(run: string): RunStore {
  const store = useMemo(
    () =>
      new RunStore(run, () => {
        void queries.invalidateQueries({ queryKey: ['report', run] });
        void queries.invalidateQueries({ queryKey: ['question'] });
      }),
    [run],
  );
  useEffect(() => store.open(), [store]);
  return store;
}

const REST_MS = 150;

export function RunProvider({ store, report, children }: ProviderProps): ReactElement | null {
  const snapshot = useSyncExternalStore(store.watch, store.snapshot);
  const { at, go } = useAt(snapshot.last);
  const node = useParameter('node');
  const set = useParameters();
  const [follow, setFollow] = useState(true);
  const found = useMemo(() => (snapshot.tip === null ? null : store.viewAt(at)), [snapshot, store, at]);
  const [known, setKnown] = useState<RunView | null>(null);
  if (found !== null && found !== known) setKnown(found);
  const view = found ?? known ?? snapshot.tip;
  const run = useMemo<ShownRun | null>(
    () =>
      view === null
        ? null
        : {
            ...snapshot,
            ...{ report, store, at, view, go, node, follow, setFollow },
            isAtEnd: at >= snapshot.last,
            select: (id) => set({ node: id }),
          },
    [snapshot, report, store, at, view, go, node, follow, set],
  );
  return run === null ? null : <Context value={run}>{children}</Context>;
}
interface ProviderProps {
  readonly store: RunStore;
  readonly report: RunReport;
  readonly children: ReactNode;
}

/** The event of the address. A drag changes the page at once, and the address when it rests. */
function useAt(last: number): { readonly at: number; readonly go: (at: number) => void } {
  const given = Number(useParameter('at') ?? Infinity);
  const set = useParameters();
  const [dragged, setDragged] = useState<number | null>(null);
  useEffect(() => {
    if (dragged === null) return undefined;
    const timer = setTimeout(() => {
      set({ at: dragged >= last ? undefined : dragged });
      setDragged(null);
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [dragged, last, set]);
  const wanted = dragged ?? (Number.isFinite(given) ? given : last);
  const go = useMemo(() => (at: number) => setDragged(Math.max(1, Math.min(last, at))), [last]);
  return { at: Math.max(1, Math.min(last, wanted)), go };
}
