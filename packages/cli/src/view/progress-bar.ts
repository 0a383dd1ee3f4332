/** A progress bar on standard error. It draws only on a terminal, and never with `--json` or `--quiet`. */
import type { Cli } from '@sluice-internal/library/documents';

export interface ProgressBar {
  update(done: number, note?: string): void;
  clear(): void;
}

const WIDTH = 30;

export function createProgressBar({ screen, json, quiet }: Cli, total: number, what: string): ProgressBar {
  if (!screen.live || json || quiet) return { update: () => undefined, clear: () => undefined };
  return {
    update: (done, note = '') => {
      const filled = total === 0 ? WIDTH : Math.min(WIDTH, Math.round((done / total) * WIDTH));
      const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}`;
      const line = `${bar} ${done}/${total} ${what} ${note}`.slice(0, Math.max(20, screen.columns() - 1));
      screen.draw(`\r\u001b[2K${line}`);
    },
    clear: () => screen.draw('\r\u001b[2K'),
  };
}
