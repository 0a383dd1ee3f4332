/** What the strategies promise about routes and gates, cell by cell of the table that compares them. */
import { describe, expect, test } from 'vitest';
import { compileTeam, driveTeam } from './team-drive.ts';
import type { Driven } from './team-drive.ts';
import {
  ADVERSARIAL,
  EDGES,
  GRAPH,
  KEYWORD,
  MACHINE,
  MAP,
  SCATTER,
  STATES,
  STRUCTURED,
  WORDS,
  agents,
  ends,
  marks,
  always,
  saying,
  steps,
} from './team-subjects.ts';

describe('handoff signal', () => {
  test('keyword: one keyword on a line of its own, relaxed', () =>
    always((said) => {
      const { path, calls } = driveTeam(KEYWORD, { say: saying(said) });
      const texts = calls.map((_, index) => said[Math.min(index, said.length - 1)] ?? '');
      for (const [index, [from, to]] of steps({ path } as Driven).entries()) {
        const heard = [...marks(texts[index] ?? '', ['TO A', 'TO B', 'TO C'], false)];
        const [word = ''] = heard;
        const taken = heard.length === 1 && (word !== 'TO C' || from === 'B');
        expect(to).toBe(taken ? word.slice(3) : heard.length === 0 ? 'A' : from);
      }
    }));
  test('graph: a keyword alone on its line, strict', () =>
    always((said) => {
      const { path, calls } = driveTeam(GRAPH, { say: saying(said) });
      const texts = calls.map((_, index) => said[Math.min(index, said.length - 1)] ?? '');
      for (const [index, [from, to]] of steps({ path } as Driven).entries()) {
        const own = EDGES.filter(({ From }) => From === from);
        const heard = marks(
          texts[index] ?? '',
          own.map(({ Keyword }) => Keyword),
          true,
        );
        expect(to).toBe(own.find(({ Keyword }) => heard.has(Keyword))?.To ?? from);
      }
    }));
  test('structured: a field of the JSON, and no keyword', () =>
    always((said) => {
      const { path } = driveTeam(STRUCTURED, { say: saying(said) });
      expect(new Set(path)).toEqual(new Set(['A']));
    }));
  test('adversarial: the pass keyword of the critic, alone on its line', () =>
    always((said) => {
      const texts: { [agent: string]: string[] } = { A: [], B: [], C: [], D: [] };
      const say = saying(said);
      const { path, outcome } = driveTeam(ADVERSARIAL, {
        say: (agent, call, told) => {
          const text = say(agent, call, told) as string;
          texts[agent]?.push(text);
          return text;
        },
      });
      const passes = (critic: string): boolean => marks(texts[critic]?.at(-1) ?? '', ['APPROVED'], true).size > 0;
      expect(outcome.code).toBe(passes('B') && passes('D') ? 'SUCCESS' : 'PARTIAL_SUCCESS');
      for (const critic of ['B', 'D'])
        for (const text of texts[critic]?.slice(0, -1) ?? []) expect(marks(text, ['APPROVED'], true).size).toBe(0);
      expect(path.length % 2).toBe(0);
    }));
});

describe('evidence gating', () => {
  const deny = { check: () => ({ ok: false, reason: 'there is none', failure: 'MissingEvidence' }) };
  test('keyword: no text passes a validator', () =>
    always((said) => {
      expect(driveTeam(KEYWORD, { say: saying(said), ...deny }).path).not.toContain('C');
    }));
  test('state machine: no text passes a contract', () =>
    always((said) => {
      expect(driveTeam(MACHINE, { say: saying(said), ...deny }).path).not.toContain('Three');
    }));
  test('graph: no text passes a validator', () =>
    always((said) => {
      expect(driveTeam(GRAPH, { say: saying(said), ...deny }).path).not.toContain('c');
    }));
  test('structured, adversarial, scatter-gather, map-reduce: there is nothing to gate by', () => {
    for (const flow of [STRUCTURED, ADVERSARIAL, SCATTER, MAP]) {
      expect(Object.values(flow.nodes).filter((node) => node.op === 'do' && node.effect.kind === 'check')).toEqual([]);
    }
    expect(() =>
      compileTeam({
        Agents: agents,
        Selection: {
          Type: 'structured',
          StructuredRoutes: [{ Agent: 'A', Condition: { Field: 'x', Exists: true }, Validator: 'RequireBrief' }],
        },
        Termination: ends,
      }),
    ).toThrow(/unknown key `Validator`/);
  });
});

describe('routing topology and ghost signals', () => {
  test('keyword: any agent may take any open route §patterns/specialist-swarm', () => {
    for (const from of ['A', 'B', 'C']) {
      const { path } = driveTeam(KEYWORD, {
        say: (agent, call) =>
          agent === from && call === 0 && from !== 'A' ? 'TO A' : from === 'A' ? 'TO B' : `TO ${from}`,
        check: () => ({ ok: true }),
      });
      expect(path.length).toBeGreaterThan(1);
    }
  });
  test('state machine: nothing but the transitions of the current state §terms/state-machine §patterns/state-machine', () =>
    always((said) => {
      for (const [from, to] of steps(driveTeam(MACHINE, { say: saying(said) })))
        expect([from, ...(STATES[from]?.Transitions.map(({ To }) => To) ?? [])]).toContain(to);
    }));
  test('state machine: a signal of another state is as good as none', () =>
    always((said) => {
      const plain = driveTeam(MACHINE, { say: saying(said) });
      const without = (text: string, state: string): string => {
        const own = STATES[state]?.Transitions.map(({ Signal }) => Signal) ?? [];
        return text
          .split('\n')
          .map((each) => (marks(each, WORDS, false).size > 0 && marks(each, own, false).size === 0 ? 'nothing' : each))
          .join('\n');
      };
      let at = 0;
      const cleaned = driveTeam(MACHINE, {
        say: () => without(said[Math.min(at, said.length - 1)] ?? '', plain.path[at++] ?? 'One'),
      });
      expect(cleaned.path).toEqual(plain.path);
      expect(cleaned.outcome.code).toBe(plain.outcome.code);
    }));
  test('graph: nothing but the edges of the current node', () =>
    always((said) => {
      for (const [from, to] of steps(driveTeam(GRAPH, { say: saying(said) })))
        expect([from, ...EDGES.filter(({ From }) => From === from).map(({ To }) => To)]).toContain(to);
    }));
  test('adversarial: stages in order, never back', () =>
    always((said) => {
      expect(driveTeam(ADVERSARIAL, { say: saying(said) }).path.join('')).toMatch(/^(AB){1,3}(CD){1,3}$/);
    }));
  test('scatter-gather: two phases, with any replies', () =>
    always((said) => {
      expect(driveTeam(SCATTER, { say: saying(said) }).path).toEqual(['A', 'B', 'C']);
    }));
  test('map-reduce: three phases, with any replies', () =>
    always((said) => {
      const say = saying(said);
      const { path } = driveTeam(MAP, {
        say: (agent, call, told) => (agent === 'A' ? JSON.stringify({ items: said }) : say(agent, call, told)),
      });
      expect(path).toEqual(['A', ...said.map(() => 'B'), 'C']);
    }));
  test('graph: each back-edge has a target of its own', () => {
    for (const [word, target] of [
      ['MORE', 'b'],
      ['TO A', 'a'],
    ] as const) {
      const { path } = driveTeam(GRAPH, { say: (agent) => ({ A: 'TO B', B: 'TO C', C: word })[agent] ?? '' });
      expect(path.slice(0, 4)).toEqual(['a', 'b', 'c', target]);
    }
  });
});
