/** Mutated documents never crash the compiler: each gives diagnostics or compiles. */
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { compileExpr } from '@sluice-internal/kernel/expr';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { draw } from '../../../kernel/src/core/random.ts';
import { compileText } from './compile-text.ts';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const runs = Number(process.env['FUZZ_RUNS'] ?? 1_500);

test(`survives ${runs} mutated documents (seed ${seed})`, { timeout: 30_000 + runs * 60 }, () => {
  const sources = ['flow', 'steps'].flatMap((notation) => {
    const root = new URL(`../../../../test/dialects/${notation}/`, import.meta.url);
    return readdirSync(root).flatMap((name) => read(new URL(`${name}/flow.yaml`, root)));
  });
  let compiled = 0;
  for (let index = 0; index < runs; index++) {
    const text = mutated(sources, index);
    try {
      const result = compileText(text);
      expect(result.diagnostics.some(({ severity }) => severity === 'error')).toBe(!result.ok);
      if (result.ok) compiled += 1;
      // Whatever compiles can be evaluated: no expression of the graph is one that the engine cannot read.
      for (const source of expressionsOf(result.flow ?? null)) compileExpr(source);
    } catch (cause) {
      throw new Error(`seed ${seed}, document ${index}:\n${text}`, { cause });
    }
  }
  expect(compiled).toBeGreaterThan(0);
  expect(compiled).toBeLessThan(runs);
});

function expressionsOf(flow: CompiledFlow | null): readonly string[] {
  return Object.values(flow?.nodes ?? {}).flatMap((node) => {
    const cases = 'failed' in node ? node.failed : node.op === 'pick' ? node.cases : [];
    const writes =
      'writes' in node
        ? node.writes.flatMap(({ value }) => (typeof value === 'string' ? value : Object.values<string>(value)))
        : [];
    const heads = node.op === 'fork' && 'heads' in node.over ? node.over.heads.flatMap(({ when }) => when ?? []) : [];
    const effect =
      node.op === 'do'
        ? [...Object.values<string>(node.effect.input), ...(node.accept === undefined ? [] : [node.accept])]
        : [];
    return [
      ...cases.map(({ when }) => when),
      ...writes,
      ...heads,
      ...effect,
      ...(node.op === 'end' ? [node.output] : []),
    ];
  });
}

function mutated(sources: readonly string[], index: number): string {
  const pick = (salt: string, count: number): number => Math.floor(draw(seed, `${index} ${salt}`) * count);
  let text = sources[pick('source', sources.length)] as string;
  for (let round = 0; round <= pick('rounds', 3); round++) {
    const at = pick(`at ${round}`, text.length);
    const size = pick(`size ${round}`, 12);
    const words = text.match(/[\w.]+/g) ?? ['x'];
    const word = words[pick(`word ${round}`, words.length)] as string;
    switch (pick(`how ${round}`, 6)) {
      case 0:
        text = text.slice(0, at) + text.slice(at + size);
        break;
      case 1:
        text = text.slice(0, at) + text.slice(at, at + size) + text.slice(at);
        break;
      case 2:
        text = text.slice(0, at) + (ODD[pick(`odd ${round}`, ODD.length)] as string) + text.slice(at);
        break;
      case 3:
        text = text.replace(word, words[pick(`other ${round}`, words.length)] as string);
        break;
      case 4:
        text = text.replaceAll(word, ODD[pick(`odd ${round}`, ODD.length)] as string);
        break;
      default: {
        const lines = text.split('\n');
        const [from, to] = [pick(`from ${round}`, lines.length), pick(`to ${round}`, lines.length)];
        [lines[from], lines[to]] = [lines[to] as string, lines[from] as string];
        text = lines.join('\n');
      }
    }
  }
  return text;
}

const ODD = [
  '{{',
  '}}',
  '"',
  "'",
  ': ',
  '- ',
  '[',
  '{',
  '&a ',
  '*a',
  '\u0000',
  '\\ud800',
  '__proto__',
  'constructor',
  'end',
  '0',
  '-1',
  '1e999',
  'null',
  'true',
  '~',
  '{{a.b}}',
  '(((',
  '?',
  '\t',
  '#',
  '|',
  '\u2028',
  'toString',
];

function read(url: URL): readonly string[] {
  try {
    return [readFileSync(url, 'utf8')];
  } catch {
    return [];
  }
}
