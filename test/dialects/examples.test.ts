/** Every example runs to a good end with its script, and warns about nothing. */
import { hash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { openMemory } from '@sluice-internal/engine/memory';
import { policyPerformer } from '@sluice-internal/guard/policy';
import { scriptedPerformer } from '@sluice-internal/library/host';
import type { Script } from '@sluice-internal/library/host';
import { compile } from '@sluice-internal/notations/driver';
import type { Json } from '@sluice-internal/kernel/expr';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';

const root = new URL('../../examples/', import.meta.url);
/** Their pages show how they fail. */
const OTHERS: ReadonlySet<string> = new Set(['saga.staged.yaml', 'stamps.flow.yaml']);
const examples = readdirSync(root).filter(
  (name) => /\.(flow|workflow|loop|staged)\.yaml$/.test(name) && !OTHERS.has(name),
);

test.each(examples)('%s', async (name) => {
  const read = (file: string): string => readFileSync(new URL(file, root), 'utf8');
  const { flow, diagnostics } = compile(read(name), { file: name, hash: (text) => hash('sha256', text, 'hex') });
  expect(diagnostics).toEqual([]);
  const script = parse(read(name.replace(/\.(flow|workflow|loop|staged)\.yaml$/, '.script.yaml'))) as Script;
  const engine = createRuntime({
    store: openMemory(),
    performer: scriptedPerformer(script, policyPerformer()),
    clock: createVirtualClock(),
    pickUp: false,
  });
  const run = await engine.start(flow as CompiledFlow, { input: inputIn(read(name)) });
  const report = await engine.settled(run);
  await engine.close();
  expect(report).toMatchObject({ state: 'completed', code: expect.stringMatching(/^(PARTIAL_)?SUCCESS$/) as string });
});

/** The input of the command at the top of the example. Only `flow` reads fields of it. */
function inputIn(text: string): Json {
  const [, quoted, plain] = /--input (?:'([^']*)'|"([^"]*)")/.exec(text) ?? [];
  const input = quoted ?? plain ?? 'a question';
  return input.startsWith('{') && /^flow:/m.test(text) ? (JSON.parse(input) as Json) : input;
}
