/** Runs a command on a real pseudo terminal, made by `script` of util-linux. */
import { spawn } from 'node:child_process';
import { bin, cleanEnvironment } from './cli.ts';
import { TestScreen } from './screen.ts';

const COLUMNS = 60;

/** Types each key when its text has appeared after the one before. Resolves with the screen and the status. */
export async function onTerminal(
  cwd: string,
  args: readonly string[],
  keys: readonly (readonly [after: string, key: string])[] = [],
  columns = COLUMNS,
): Promise<{ readonly lines: readonly string[]; readonly status: number | null }> {
  const command = `stty cols ${columns} rows 24; exec "${process.execPath}" "${bin}" ${args.join(' ')}`;
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    cwd,
    env: { ...cleanEnvironment(), TERM: 'xterm', NO_COLOR: '1' },
  });
  const screen = new TestScreen(columns);
  const left = [...keys];
  let unread = '';
  child.stdout.on('data', (chunk: Buffer) => {
    screen.write(chunk.toString());
    unread += chunk.toString();
    const [next] = left;
    const at = next === undefined ? -1 : unread.indexOf(next[0]);
    if (next === undefined || at < 0) return;
    unread = unread.slice(at + next[0].length);
    left.shift();
    setTimeout(() => child.stdin.write(next[1]), 150);
  });
  const status = await new Promise<number | null>((done) => child.once('close', done));
  return { lines: screen.lines(), status };
}
