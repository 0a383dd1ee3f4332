/** Whether the navigation is shown on a narrow page. */
import { useSyncExternalStore } from 'react';

const watchers = new Set<() => void>();
let isOpen = false;

function set(open: boolean): void {
  isOpen = open;
  for (const watcher of watchers) watcher();
}

export function toggleMenu(): void {
  set(!isOpen);
}

export function closeMenu(): void {
  set(false);
}

export function useMenu(): boolean {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
    () => isOpen,
  );
}
