/**
 * The live view. Each frame is one write that fits the terminal, so nothing flickers. The last frame stays, and the
 * cursor is always restored.
 */
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { widthOf } from '@sluice-internal/library/documents';
import type { Screen } from '@sluice-internal/library/documents';
import { frameOf } from './frame.ts';
import { createProgress, type View } from './progress.ts';
import { readFileSync } from 'node:fs';

const FRAME_MS = 100;
const HIDE = '\u001B[?25l';
const SHOW = '\u001B[?25h';

export function createLiveView(run: string, flow: CompiledFlow, screen: Screen): View {
  const progress = createProgress(flow);
  const startedAt = Date.now();
  let drawn: readonly string[] = [];
  let timer: NodeJS.Timeout | null = null;
  let tick = 0;
  let ended = false;
  let giveKeysBack = (): void => undefined;

  const draw = (last: boolean): void => {
    const size = { columns: screen.columns(), rows: process.stderr.rows || 24 };
    const lines = frameOf(
      { run, flow, progress, elapsedMs: Date.now() - startedAt, tick: tick++, last },
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

const CTRL_C = '\u0003';
const CTRL_Z = '\u001A';
const CTRL_BACKSLASH = '\u001C';

/**
 * Takes the keys that are typed while a live view is drawn. An echoed line end would move the cursor below the frame and leave
 * stray lines; keys must also not answer a question that comes later. Ctrl-C and Ctrl-Z work as usual. Returns a function that
 * gives the keys back.
 */
function takeKeys(): () => void {
  const { stdin } = process;
  if (stdin.isTTY !== true || stdin.isRaw || !isForeground()) return () => undefined;
  const onData = (chunk: Buffer): void => {
    const keys = chunk.toString();
    if (keys.includes(CTRL_C)) process.kill(process.pid, 'SIGINT');
    else if (keys.includes(CTRL_BACKSLASH)) process.kill(process.pid, 'SIGQUIT');
    else if (keys.includes(CTRL_Z)) stopProcess();
  };
  const onContinue = (): void => void stdin.setRawMode(true);
  stdin.setRawMode(true);
  stdin.on('data', onData);
  stdin.resume();
  // The process may end while the view is drawn.
  stdin.unref();
  process.on('SIGCONT', onContinue);
  return () => {
    process.removeListener('SIGCONT', onContinue);
    stdin.removeListener('data', onData);
    stdin.pause();
    stdin.setRawMode(false);
    stdin.ref();
  };
}

function stopProcess(): void {
  process.stdin.setRawMode(false);
  process.kill(process.pid, 'SIGTSTP');
}

/** A process in the background that changes the terminal is stopped by the system. In doubt it is in the foreground. */
function isForeground(): boolean {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const [, , , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 1).split(' ');
    return group === foreground;
  } catch {
    return true;
  }
}
