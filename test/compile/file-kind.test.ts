/** A file in the place of another gets one error that names both kinds. */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import { readSuite } from '@sluice-internal/evals/suite';
import { readScript } from '@sluice-internal/library/host';

const DOCUMENT = 'agents: [{ id: a }]\nflow: { id: f, entry: x, nodes: [{ id: x, type: terminal }] }\n';
const SUITE = 'flow: ./f.flow.yaml\ncases: [{ name: one, input: hi }]\n';
const SCRIPT = 'agents: { a: [hello] }\ntools: { t: [{ result: 1 }] }\n';

const readers = {
  document: (text: string) => compile(text).diagnostics,
  script: (text: string) => readScript(text, 'file').diagnostics,
  suite: (text: string) => readSuite(text, 'file').diagnostics,
};

describe('a file in the place of another', () => {
  test.each([
    ['document', SCRIPT, 'no-notation: this is a script, not a document'],
    ['document', 'approvals: { gate: approve }\n', 'no-notation: this is a script, not a document'],
    ['document', SUITE, 'no-notation: this is a suite, not a document'],
    ['script', DOCUMENT, 'bad-script: this is a document, not a script'],
    ['script', 'steps: [{ agent: a }]\n', 'bad-script: this is a document, not a script'],
    ['script', SUITE, 'bad-script: this is a suite, not a script'],
    ['suite', DOCUMENT, 'bad-suite: this is a document, not a suite'],
    ['suite', SCRIPT, 'bad-suite: this is a script, not a suite'],
  ] as const)('as a %s: %j', (wanted, text, expected) => {
    const found = readers[wanted](text);
    expect(found.map(({ code, message }) => `${code}: ${message}`)).toEqual([expected]);
    expect(found[0]?.help).toMatch(/\.$/);
  });

  test.each([
    ['document', 'agents: [{ id: a }]\n', 'no-notation: this document declares nothing to run'],
    ['document', `${DOCUMENT}cases: []\n`, 'unknown-key: unknown key `cases` in this document'],
    ['suite', 'flow: ./f.flow.yaml\n', 'bad-suite: this suite has no cases, so it checks nothing'],
    ['suite', 'flow: { id: f }\ncases: [{ name: one }]\n', 'wrong-type: `flow` must be text, but is a map'],
    ['script', 'agent: { a: [hello] }\n', 'unknown-key: unknown key `agent` in this script'],
  ] as const)('a faulty %s is still one: %j', (wanted, text, expected) => {
    expect(readers[wanted](text).map(({ code, message }) => `${code}: ${message}`)).toContain(expected);
  });
});
