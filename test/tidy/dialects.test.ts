/**
 * The engine has never heard of notations: what differs between them is data. No identifier and no string in the core or
 * the engine names one, nor a strategy or a kind of step of one.
 */
import { expect, test } from 'vitest';
import { codeFiles } from './tree.ts';
import { tokensOf } from './tokens.ts';

const WORDS = new Set(
  (
    'workflow orchestration team staged stage loop dialect strategy magentic keyword roundrobin sequential structured statemachine ' +
    'adversarial mapreduce splitter mapper reducer fanout conditional collect parallel scatter handoff planner selector critic swarm supervisor'
  ).split(' '),
);
/** As a whole string these name a notation, although as words they are everybody's. */
const NAMES = new Set(["'flow'", "'steps'", "'graph'", "'loop'", "'team'"]);

/** Where such a word means something else. */
const ALLOWED: { readonly [path: string]: { readonly words: readonly string[]; readonly because: string } } = {
  'packages/kernel/src/expr/compile.ts': {
    words: ['loop', 'mapper'],
    because: 'the comprehension of the expression language, and its map macro',
  },
  'packages/kernel/src/expr/cel-text.ts': { words: ['loop'], because: 'a reserved word of the expression language' },
  'packages/kernel/src/ir/dimensions.ts': { words: ["'steps'"], because: 'a dimension of budgets' },
  'packages/kernel/src/ir/codes.ts': { words: ["'graph'"], because: 'the ends and routes of a document decided' },
  'packages/kernel/src/ir/protections.ts': { words: ['loop'], because: 'a kind of failure in the decision table' },
  'packages/kernel/src/core/meters.ts': { words: ["'steps'"], because: 'a dimension of budgets' },
  'packages/kernel/src/ir/meters.ts': { words: ["'steps'"], because: 'a dimension of budgets' },
  'packages/kernel/src/ir/nodes.ts': { words: ['parallel'], because: 'a setting of providers' },
  'packages/engine/src/ports/decisions.ts': {
    words: ['loop'],
    because: 'a kind of failure in the decision table',
  },
  'packages/engine/src/journal/audit-entry.ts': { words: ["'flow'"], because: 'a column of the listing' },
};

const files = codeFiles(
  ...['expr', 'ir', 'core'].map((folder) => `packages/kernel/src/${folder}`),
  ...['audit', 'journal', 'limits', 'ports', 'report', 'worker'].map((folder) => `packages/engine/src/${folder}`),
);

test('core and engine name no notation', () => {
  const found = files.flatMap(({ path, text }) =>
    tokensOf(text)
      .flatMap((token) => wordsOf(token.text, token.kind).map((word) => ({ word, line: token.line })))
      .filter(({ word }) => !(ALLOWED[path]?.words.includes(word) ?? false))
      .map(({ word, line }) => `${path}:${line}: ${word}`),
  );
  expect(found).toEqual([]);
});

test('core and engine do not branch on the notation', () => {
  const found = files.flatMap(({ path, text }) => {
    const tokens = tokensOf(text);
    return tokens.flatMap((token, index) => {
      const after = tokens
        .slice(index + 1, index + 4)
        .map((each) => each.text)
        .join('');
      const before = tokens[index - 2]?.text ?? '';
      const isSwitched = before === 'switch' && tokens[index - 1]?.text === '(';
      return token.text === 'notation' && (/^[!=]==?/.test(after) || isSwitched) ? [`${path}:${token.line}`] : [];
    });
  });
  expect(found).toEqual([]);
});

test('every exception is still needed', () => {
  const unused = Object.entries(ALLOWED).flatMap(([path, { words }]) => {
    const said = new Set(
      files
        .filter((file) => file.path === path)
        .flatMap(({ text }) => tokensOf(text).flatMap((token) => wordsOf(token.text, token.kind))),
    );
    return words.filter((word) => !said.has(word)).map((word) => `${path}: ${word}`);
  });
  expect(unused).toEqual([]);
});

function wordsOf(text: string, kind: string): string[] {
  if (kind === 'sign') return [];
  if (NAMES.has(text)) return [text];
  const words = text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);
  return words.filter((word) => WORDS.has(word));
}
