/**
 * Records a session of a terminal: real commands in a real pseudo-terminal. Writes it as an asciicast, and as an SVG that plays
 * it and follows the colours of the reader: `node scripts/recording.ts [FOLDER]`.
 */
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { castOf, framesOf, playerOf } from './recording-svg.ts';
import type { Written } from './recording-svg.ts';
import { root } from './tool.ts';

const COLUMNS = 104;
const ROWS = 30;

interface Step {
  /** As a person types it. */
  readonly command: string;
  /** What the person types when this text is on the screen. */
  readonly answers?: readonly { readonly at: string; readonly keys: string }[];
  /** How long the reader looks at the result, in seconds. */
  readonly read: number;
}

/** The path of the guide: a project, a run that asks before it pays, and what the run did. */
const SESSION: readonly Step[] = [
  { command: 'npx sluice init my-desk && cd my-desk', read: 2 },
  {
    command: 'npx sluice run desk.loop.yaml --script desk.script.yaml --input @input.txt --run kettle',
    answers: [{ at: 'as number or name: ', keys: 'approve\r' }],
    read: 4,
  },
  { command: 'npx sluice explain kettle', read: 5 },
];

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const folder = resolve(process.argv[2] ?? join(root, 'docs/studio'));
  mkdirSync(folder, { recursive: true });
  const written = await record(SESSION);
  writeFileSync(join(folder, 'first-run.cast'), castOf(written, COLUMNS, ROWS));
  writeFileSync(join(folder, 'first-run.svg'), playerOf(await framesOf(written, COLUMNS, ROWS), COLUMNS));
  console.log(`${written.length} pieces of output, in ${folder}`);
}

/** Everything that the terminal showed, with the second at which it did. Long waits are cut, so that nobody watches them. */
async function record(session: readonly Step[]): Promise<readonly Written[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-recording-'));
  const bin = join(folder, 'bin');
  const all: Written[] = [];
  let at = 0;
  const put = (text: string, seconds: number): void => {
    at += seconds;
    all.push({ at, text });
  };
  try {
    provideNpx(bin);
    for (const step of session) {
      put('\u001B[32m$\u001B[0m ', 0.3);
      for (const letter of step.command) put(letter, 0.035);
      put('\r\n', 0.4);
      let last = performance.now();
      const place = step === session[0] ? folder : join(folder, 'my-desk');
      await play(step, place, bin, (text) => {
        const now = performance.now();
        put(text, Math.min((now - last) / 1000, 0.6));
        last = now;
      });
      put('', step.read);
    }
    return all;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `npx sluice` as in a project that has installed the package. */
function provideNpx(bin: string): void {
  mkdirSync(bin);
  const npx = join(bin, 'npx');
  writeFileSync(npx, `#!/bin/sh\nshift\nexec "${process.execPath}" "${join(root, 'bin/sluice.js')}" "$@"\n`);
  chmodSync(npx, 0o755);
}

async function play(step: Step, cwd: string, bin: string, write: (text: string) => void): Promise<void> {
  const child = spawn('script', ['-qfec', `stty cols ${COLUMNS} rows ${ROWS}; ${step.command}`, '/dev/null'], {
    cwd,
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH']}`, TERM: 'xterm-256color', USER: 'mila' },
  });
  const left = [...(step.answers ?? [])];
  let unread = '';
  const ended = new Promise<number | null>((done) => child.once('close', done));
  child.stdout.setEncoding('utf8');
  for await (const text of child.stdout as AsyncIterable<string>) {
    write(text);
    unread += text;
    const [next] = left;
    if (next === undefined || !unread.includes(next.at)) continue;
    left.shift();
    unread = '';
    await setTimeout(500);
    child.stdin.write(next.keys);
  }
  const status = await ended;
  if (status !== 0) throw new Error(`\`${step.command}\` ended with ${status}`);
}
