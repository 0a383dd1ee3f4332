/** What the strategies promise about what runs at once, who sees what, and how sessions end, cell by cell of the same table. */
import { describe, expect, test } from 'vitest';
import { compileTeam, driveTeam } from './team-drive.ts';
import type { Driven, World } from './team-drive.ts';
import {
  ADVERSARIAL,
  GRAPH,
  KEYWORD,
  MACHINE,
  MAP,
  SCATTER,
  STRUCTURED,
  agents,
  machine,
  always,
  saying,
} from './team-subjects.ts';

describe('parallel execution', () => {
  test('keyword, structured and adversarial have one call open at a time', () =>
    always((said) => {
      for (const flow of [KEYWORD, STRUCTURED, ADVERSARIAL])
        expect(driveTeam(flow, { say: saying(said) }).width).toBe(1);
    }));
  test('scatter-gather and map-reduce have all of them open at once', () => {
    expect(driveTeam(SCATTER, { say: () => 'x' }).width).toBe(2);
    expect(driveTeam(MAP, { say: () => '{"items": [1, 2, 3, 4]}' }).width).toBe(4);
  });
  test('what comes back first changes nothing', () =>
    always((said) => {
      const say: World['say'] = (agent, call) => (agent === 'A' ? JSON.stringify({ items: said }) : `${agent} ${call}`);
      const told = (run: Driven): unknown =>
        run.calls.filter(({ agent }) => agent === 'C').map(({ messages }) => messages.length);
      const [first, last] = [
        driveTeam(MAP, { say }),
        driveTeam(MAP, { say, order: (open) => open.at(-1) as (typeof open)[number] }),
      ];
      expect(last.path).toEqual(first.path);
      expect(told(last)).toEqual(told(first));
    }));
});

describe('who is told what', () => {
  test('scatter-gather: every participant gets the same task and nothing of the others', () =>
    always((said) => {
      const { calls } = driveTeam(SCATTER, { say: saying(said) });
      for (const { messages } of calls.slice(0, 2))
        expect(messages.slice(1)).toEqual([{ role: 'user', content: 'the task' }]);
    }));
  test('map-reduce: one item each, in full, and nothing else', () =>
    always((said) => {
      const { calls } = driveTeam(MAP, { say: (agent) => (agent === 'A' ? JSON.stringify({ items: said }) : 'x') });
      expect(calls.filter(({ agent }) => agent === 'B').map(({ messages }) => messages.slice(1))).toEqual(
        said.map((content) => [{ role: 'user', content }]),
      );
    }));
  test("adversarial: a critic's prompt is its instructions and the artifact", () =>
    always((said) => {
      const { calls } = driveTeam(ADVERSARIAL, { say: saying(said) });
      // Every other call is a critic's, right after the generator's whose artifact it judges.
      const critics = calls.filter((_, index) => index % 2 === 1);
      expect(critics.map(({ messages }) => messages)).toEqual(
        critics.map(({ agent }, index) => [
          { role: 'system', content: `You are ${agent}.` },
          { role: 'user', content: said[Math.min(2 * index, said.length - 1)] ?? '' },
        ]),
      );
      expect(new Set(critics.map(({ agent }) => agent))).toEqual(new Set(['B', 'D']));
    }));
  test('a branch sees nothing of its siblings', () =>
    always((said) => {
      const flow = compileTeam({
        Agents: agents,
        Selection: {
          Type: 'statemachine',
          StateMachine: {
            Initial: 'One',
            States: {
              One: { Agent: 'A', Transitions: [{ To: 'End', Targets: ['X', 'Y'], Parallel: true }] },
              X: { Agent: 'B' },
              Y: { Agent: 'C' },
              End: { Agent: 'A', Terminal: true },
            },
          },
        },
        Termination: { Type: 'maxiterations', MaxIterations: 4 },
      });
      const { calls } = driveTeam(flow, { say: (agent, call) => `${agent}-${call}-${said[0] ?? ''}` });
      const of = (name: string): string =>
        calls
          .filter(({ agent }) => agent === name)
          .map(({ messages }) => messages.map(({ content }) => content).join('\n'))[0] ?? '';
      expect(of('B')).not.toContain('C-0-');
      expect(of('C')).not.toContain('B-0-');
    }));
});

describe('compaction, verifier, classification', () => {
  const compacted = compileTeam(
    machine({ EvidenceStore: {}, Compaction: { Mode: 'lossless', TriggerTurnCount: 2, KeepRecentTurns: 1 } }),
  );
  test('state machine: compaction changes no route and no gate', () =>
    always((said) => {
      const check = (): { ok: boolean; reason: string } => ({ ok: said.length % 2 === 0, reason: 'odd' });
      const [whole, short] = [
        driveTeam(MACHINE, { say: saying(said), check }),
        driveTeam(compacted, { say: saying(said), check }),
      ];
      expect(short.path).toEqual(whole.path);
      expect(short.outcome).toEqual(whole.outcome);
    }));
  test('state machine: the verifier has a turn exactly when evidence is doubtful', () =>
    always((said) => {
      const flow = compileTeam(machine({ Verifier: { AgentName: 'V' } }));
      const say = saying(said);
      const { calls, events, path } = driveTeam(flow, {
        say: (agent, call, told) => (agent === 'V' ? 'fine' : say(agent, call, told)),
        check: () => ({ ok: false, reason: 'fake', failure: 'ConflictingEvidence' }),
      });
      const doubted = events.filter(
        (event) =>
          event.type === 'slots.written' &&
          /correction:(conflicting_evidence|no_progress)/.test(flow.nodes[event.node]?.label.name ?? ''),
      ).length;
      const audits = calls.filter(({ agent }) => agent === 'V').length;
      // The last one may be denied its turn by the cap.
      expect(doubted - audits === 0 || (doubted - audits === 1 && path.length + audits === 12)).toBe(true);
    }));
  test.each([
    ['keyword', KEYWORD],
    ['state machine', MACHINE],
    ['graph', GRAPH],
  ])('%s: a refusal is classified', (_, flow) => {
    const kinds = new Set(Object.values(flow.nodes).map(({ label }) => label.name));
    for (const kind of ['no_progress', 'conflicting_evidence', 'missing_evidence', 'invalid_transition'])
      expect(kinds).toContain(`correction:${kind}`);
  });
});

describe('every session ends', () => {
  test('every session ends with one code §patterns/specialist-swarm', () =>
    always((said) => {
      for (const flow of [KEYWORD, MACHINE, GRAPH, STRUCTURED, ADVERSARIAL, SCATTER, MAP]) {
        const { outcome, events } = driveTeam(flow, { say: saying(said) });
        expect(['SUCCESS', 'PARTIAL_SUCCESS', 'BUDGET_EXHAUSTED', 'REPEATED_FAILURE']).toContain(outcome.code);
        expect(events.filter(({ type }) => type === 'run.ended')).toHaveLength(1);
      }
    }));
});
