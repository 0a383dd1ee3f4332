/**
 * Cost per success: `node bench/faults/run.ts [--runs N] [--seed S] [--outage RUNS] [--peers] [--json]`. The same agents on Sluice, LangGraph.js and
 * Mastra meet the same faults: timeouts, 429, malformed output, and a process that is killed in the middle of a call.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ledger } from './provider.ts';

export interface CostResult {
  readonly contestant: string;
  readonly runs: number;
  readonly succeeded: number;
  readonly calls: number;
  readonly crashes: number;
  readonly tokens: number;
  /** Null without a success. */
  readonly tokensPerSuccess: number | null;
}

/** Crashes are 1 % of the calls. Many more processes than that mean that one cannot start. */
const PROCESSES_MAX = 400;

export function measure(contestant: string, runs: number, seed: number, outage = 0): CostResult {
  const dir = mkdtempSync(join(tmpdir(), `sluice-faults-${contestant}-`));
  try {
    const child = join(import.meta.dirname, 'child.ts');
    let left = PROCESSES_MAX;
    for (;;) {
      const { status, signal, stderr } = spawnSync(
        process.execPath,
        ['--no-warnings', child, contestant, dir, String(seed), String(runs), String(outage)],
        { encoding: 'utf8' },
      );
      if (status === 0) break;
      if (signal !== 'SIGKILL' || left-- === 0) throw new Error(`${contestant}: ${stderr}`);
    }
    return resultOf(contestant, dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function resultOf(contestant: string, dir: string): CostResult {
  const ended = readFileSync(join(dir, 'results.jsonl'), 'utf8').trim().split('\n');
  const succeeded = ended.filter((line) => (JSON.parse(line) as { readonly ok: boolean }).ok).length;
  const entries = ledger(join(dir, 'ledger.jsonl'));
  const tokens = entries.reduce((sum, each) => sum + each.tokens, 0);
  return {
    contestant,
    runs: ended.length,
    succeeded,
    calls: entries.length,
    crashes: entries.filter(({ fault }) => fault === 'crash').length,
    tokens,
    tokensPerSuccess: succeeded === 0 ? null : Math.round(tokens / succeeded),
  };
}

export function asMarkdown(results: readonly CostResult[], seed: number): string {
  const rows = results.map(
    ({ contestant, runs, succeeded, calls, crashes, tokens, tokensPerSuccess }) =>
      `| ${contestant} | ${runs} | ${succeeded} | ${calls} | ${crashes} | ${tokens} | ${tokensPerSuccess ?? '-'} |`,
  );
  return [
    '| engine | runs | succeeded | calls | crashes | tokens | tokens per success |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
    `Seed ${seed}. Of all calls, 5 % time out (and are paid), 5 % get a 429, 5 % get a malformed reply, and 1 % kill the process.`,
  ].join('\n');
}

function main(): void {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '200' },
      seed: { type: 'string', default: '1' },
      outage: { type: 'string', default: '0' },
      peers: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      out: { type: 'string' },
    },
  });
  const own = values.outage === '0' ? ['sluice'] : ['sluice', 'sluice-operated'];
  const names = values.peers ? [...own, 'langgraph', 'mastra'] : own;
  const results = names.map((name) => measure(name, Number(values.runs), Number(values.seed), Number(values.outage)));
  const text = values.json ? JSON.stringify(results, null, 2) : asMarkdown(results, Number(values.seed));
  process.stdout.write(`${text}\n`);
  if (values.out !== undefined) writeFileSync(values.out, `${text}\n`);
}

if (process.argv[1] === import.meta.filename) main();
