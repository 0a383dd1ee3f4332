/**
 * The live view. Each frame is one write that fits the terminal, so nothing flickers. The last frame stays, and the
 * cursor is always restored.
 */
import type { CompiledFlow } from '../../../ir/nodes.ts';
import type { Screen } from '../screen.ts';
import { widthOf } from '../text.ts';
import { frameOf } from './frame.ts';
import { takeKeys } from './keys.ts';
import { createProgress, type View } from './progress.ts';
import { createSpending } from './spending.ts';

const FRAME_MS = 100;
const HIDE = '\u001B[?25l';
const SHOW = '\u001B[?25h';

export function createLiveView(run: string, flow: CompiledFlow, screen: Screen): View {
  const progress = createProgress(flow);
  const spending = createSpending(flow);
  const startedAt = Date.now();
  let drawn: readonly string[] = [];
  let timer: NodeJS.Timeout | null = null;
  let tick = 0;
  let ended = false;
  let giveKeysBack = (): void => undefined;

  const draw = (last: boolean): void => {
    const size = { columns: screen.columns(), rows: process.stderr.rows || 24 };
    const lines = frameOf(
      { run, flow, progress, spending, elapsedMs: Date.now() - startedAt, tick: tick++, last },
      size,
      screen.colors,
    );
    // Overwrite each line in place and erase its rest, so that nothing is blank in between.
    screen.draw(`${rewind(drawn, size.columns)}${lines.map((line) => `${line}\u001B[K\n`).join('')}\u001B[J`);
    drawn = lines;
  };
  const show = (): void => screen.draw(SHOW);
  const begin = (): void => {
    if (timer !== null) return;
    if (screen.interactive) giveKeysBack = takeKeys();
    screen.draw(HIDE);
    process.once('exit', show);
    timer = setInterval(draw, FRAME_MS, false);
    timer.unref();
    draw(false);
  };
  const pause = (): void => {
    if (timer === null) return;
    clearInterval(timer);
    timer = null;
    draw(true);
    drawn = [];
    process.removeListener('exit', show);
    show();
    giveKeysBack();
  };
  return {
    take: (event) => {
      if (ended) return;
      progress.take(event);
      spending.take(event);
      begin();
    },
    hear: progress.hear,
    pause,
    end: () => {
      ended = true;
      pause();
    },
  };
}

/** A narrower window may have wrapped old lines. */
function rewind(lines: readonly string[], columns: number): string {
  const rows = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / Math.max(1, columns))), 0);
  return rows === 0 ? '' : `\r\u001B[${rows}A`;
}
