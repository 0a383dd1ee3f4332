/** Long sessions: what compaction leaves of a request is the beginning of the one before, so that providers charge less for it. */
import { expect, test } from 'vitest';
import type { Message } from '@sluice-internal/platform';
import { compileTeam, driveTeam } from './team-drive.ts';

const TURNS = 28;
const MODES = ['window', 'lossless', 'lossy', 'llm', 'intent', 'hybrid'] as const;

/** A state machine of one worker, who looks something up in every turn. `null`: without compaction. */
function session(mode: (typeof MODES)[number] | null) {
  const flow = compileTeam({
    Agents: [{ Name: 'A', Instructions: 'Work on the task. '.repeat(60), Plugins: ['FileSystem'] }],
    Selection: {
      Type: 'statemachine',
      StateMachine: {
        Initial: 'Work',
        States: {
          Work: { Agent: 'A', Transitions: [{ To: 'Check', Signal: 'CHECK' }] },
          Check: { Agent: 'A', Transitions: [{ To: 'Work', Signal: 'GO ON' }] },
        },
      },
    },
    Termination: { Type: 'maxiterations', MaxIterations: TURNS },
    EvidenceStore: { Path: 'evidence.json' },
    ...(mode === null ? {} : { Compaction: { Mode: mode, TriggerTurnCount: 10, KeepRecentTurns: 3 } }),
  });
  const driven = driveTeam(flow, {
    say: (_, call) => {
      if (call % 2 === 0) return { tools: [{ name: 'read_file', args: { path: `notes-${call}.md` } }] };
      return `${`Turn ${call}: here is what I found. `.repeat(20)}\n${call % 4 === 1 ? 'CHECK' : 'GO ON'}`;
    },
    tool: (_, args) => `${JSON.stringify(args)} ${'a line of the notes. '.repeat(30)}`,
  });
  return measured(driven.calls.map(({ messages }) => textOf(messages)));
}

/** All characters sent, the share that the request before began with, and the price where that share costs a tenth. */
function measured(requests: readonly string[]) {
  let [sent, again] = [0, 0];
  for (const [at, request] of requests.entries()) {
    sent += request.length;
    again += common(requests[at - 1] ?? '', request);
  }
  return { requests: requests.length, sent, share: again / sent, price: sent - again + again / 10 };
}

const textOf = (messages: readonly Message[]): string =>
  messages.map(({ role, content, toolCalls }) => `${role}: ${content} ${JSON.stringify(toolCalls ?? [])}\n`).join('');

function common(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}

test.each(MODES)('%s sends less, and most of it begins like the request before', (mode) => {
  const [whole, compacted] = [session(null), session(mode)];
  expect(compacted.requests).toBe(whole.requests);
  expect(compacted.sent).toBeLessThan(whole.sent * 0.7);
  expect(compacted.share).toBeGreaterThanOrEqual(0.8);
  expect(compacted.price).toBeLessThan(whole.price);
  if (process.env['FIGURES'] !== undefined) console.log(mode, whole, compacted, compacted.price / whole.price);
});
