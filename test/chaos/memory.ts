/** Reads a very long run through the command line with little memory. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile, createEngine } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import type { Part, Round } from './part.ts';

const BIN = join(import.meta.dirname, '../../bin/sluice.js');
const COMMANDS: readonly (readonly string[])[] = [
  ['trace', 'long'],
  ['trace', 'long', '--events'],
  ['trace', 'long', '--json'],
  ['audit', 'verify'],
];

export const memory: Part = {
  name: 'memory',
  promise: 'a run of 20,000 steps is read in a heap of 64 MB',
  round: (_, size) => (size === 'long' ? read(20_000, 64, COMMANDS) : read(6_000, 40, COMMANDS.slice(1, 2))),
};

async function read(steps: number, heapMb: number, commands: typeof COMMANDS): Promise<Round> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-memory-'));
  const db = join(dir, 'long.db');
  try {
    await makeRun(db, steps);
    const violations = commands.flatMap((command) => {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [`--max-old-space-size=${heapMb}`, BIN, ...command, '--db', db],
        { encoding: 'utf8', maxBuffer: Infinity },
      );
      const isWhole = command[0] !== 'trace' || stdout.split('\n').length > steps;
      return status === 0 && isWhole
        ? []
        : [`\`sluice ${command.join(' ')}\` ended with ${status}: ${stderr.slice(0, 500)}`];
    });
    return { figures: { steps, commands: commands.length }, violations };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function makeRun(journal: string, steps: number): Promise<void> {
  const { flow } = compile({
    tools: { 'read.page': { effect: 'read' } },
    flow: {
      id: 'long',
      entry: 'page',
      max_iterations: steps + 10,
      nodes: [
        {
          id: 'page',
          type: 'tool',
          tool: 'read.page',
          routes: [
            { when: `page.result.number < ${steps}`, to: 'page' },
            { when: 'true', to: 'end' },
          ],
        },
      ],
    },
  });
  let number = 0;
  const engine = createEngine({
    journal,
    tools: { 'read.page': () => ({ number: (number += 1), text: 'x'.repeat(100) }) },
  });
  await engine.start(flow as CompiledFlow, { run: 'long' });
  await engine.settled('long');
  await engine.close();
}
