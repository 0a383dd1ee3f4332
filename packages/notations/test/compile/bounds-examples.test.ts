/** The worst case of every example that ships, by hand. A team retries a failed model call twice, so a turn has three attempts. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { compileText } from './compile-text.ts';

const ATTEMPTS = 3;
/** A turn with twenty calls: the first question, one more after each call, and two after answers with bad references. */
const WITH_TWENTY = (21 + 2) * ATTEMPTS;

test.each([
  ['sequential.team', 'three agents without tools', 3 * ATTEMPTS],
  ['roundrobin.team', 'eight turns', 8 * ATTEMPTS],
  ['scattergather.team', 'three agents and one that sums up', 4 * ATTEMPTS],
  ['mapreduce.team', 'four lists with a repair each, twenty items and one that sums up', 25 * ATTEMPTS + 4],
  [
    'structured.team',
    'three agents with three turns each; those of the two with routes can be repaired',
    9 * ATTEMPTS + 6,
  ],
  ['adversarial.team', 'two stages of three generations and three reviews', 2 * 6 * ATTEMPTS],
  ['graph.team', 'a hundred turns, inside the sub-graph or outside', 100 * ATTEMPTS],
  ['llm.team', 'ten turns, each after up to three selections', 10 * (1 + 3) * ATTEMPTS],
  ['keyword.team', 'twenty turns with tools', 20 * WITH_TWENTY],
  ['dev-team.team', 'forty turns with tools', 40 * WITH_TWENTY],
  ['statemachine.team', 'six turns of the writer, who has tools, among thirty', 6 * WITH_TWENTY + 24 * ATTEMPTS],
  ['extract-validate-decide.workflow', 'two steps, one of them retried', 6],
  ['slow.flow', 'five agents', 5],
  ['gather.flow', 'four agents', 4],
])('%s: %s', (name, _, modelCalls) => {
  const text = readFileSync(new URL(`../../../../examples/${name}.yaml`, import.meta.url), 'utf8');
  expect(compileText(text).bounds?.flow.modelCalls.most).toBe(modelCalls);
});
