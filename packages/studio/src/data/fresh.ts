/** Changes that the stream tells make the documents on the page new. */
import { useEffect } from 'react';
import { live } from './live.ts';
import { queries } from './server.ts';

/** Lists are read again at most this often, however fast runs change. */
const CALM_MS = 300;

export function useFreshLists(): void {
  useEffect(() => {
    const again = calmly();
    const offs = [
      live.subscribe('questions', () => again(['questions'], ['report']), { onOpen: () => void refreshAll() }),
      live.subscribe('flows', () => again(['flows'], ['flow'], ['picture'])),
      live.subscribe('runs', () => again(['summary'])),
    ];
    return () => {
      for (const off of offs) off();
    };
  }, []);
}

/** After a lost connection everything on the page may be old. */
async function refreshAll(): Promise<void> {
  await queries.invalidateQueries({ refetchType: 'active', predicate: ({ queryKey }) => queryKey[0] !== 'session' });
}

function calmly(): (...keys: readonly (readonly [string])[]) => void {
  const waiting = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | null = null;
  return (...keys) => {
    for (const [key] of keys) waiting.add(key);
    timer ??= setTimeout(() => {
      timer = null;
      for (const key of waiting) void queries.invalidateQueries({ queryKey: [key] });
      waiting.clear();
    }, CALM_MS);
  };
}
