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
  machine,
  marks,
  property,
  saying,
  steps,
} from './team-subjects.ts';

describe('handoff signal', () => {
  property('keyword: one keyword on a line of its own, relaxed', (said) => {
    const { path, calls } = driveTeam(KEYWORD, { say: saying(said) });
    const texts = calls.map((_, index) => said[Math.min(index, said.length - 1)] ?? '');
    for (const [index, [from, to]] of steps({ path } as Driven).entries()) {
      const heard = [...marks(texts[index] ?? '', ['TO A', 'TO B', 'TO C'], false)];
      if (heard.length === 1 && heard[0] !== 'TO C') expect(to).toBe(heard[0]?.slice(3));
      else if (heard.length === 1 && from === 'B') expect(to).toBe('C');
      else expect(to).toBe(heard.length === 0 ? 'A' : from);
    }
  });
  property('graph: a keyword alone on its line, strict', (said) => {
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
  });
  property('structured: a field of the JSON, and no keyword', (said) => {
    const { path } = driveTeam(STRUCTURED, { say: saying(said) });
    expect(new Set(path)).toEqual(new Set(['A']));
  });
  property('adversarial: the pass keyword of the critic, alone on its line', (said) => {
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
  });
});

describe('evidence gating', () => {
  const deny = { check: () => ({ ok: false, reason: 'there is none', failure: 'MissingEvidence' }) };
  property('keyword: no text passes a validator', (said) => {
    expect(driveTeam(KEYWORD, { say: saying(said), ...deny }).path).not.toContain('C');
  });
  property('state machine: no text passes a contract', (said) => {
    expect(driveTeam(MACHINE, { say: saying(said), ...deny }).path).not.toContain('Three');
  });
  property('graph: no text passes a validator', (said) => {
    expect(driveTeam(GRAPH, { say: saying(said), ...deny }).path).not.toContain('c');
  });
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
  test('keyword: any agent may take any open route', () => {
    for (const from of ['A', 'B', 'C']) {
      const { path } = driveTeam(KEYWORD, {
        say: (agent, call) =>
          agent === from && call === 0 && from !== 'A' ? 'TO A' : from === 'A' ? 'TO B' : `TO ${from}`,
        check: () => ({ ok: true }),
      });
      expect(path.length).toBeGreaterThan(1);
    }
  });
  property('state machine: nothing but the transitions of the current state', (said) => {
    for (const [from, to] of steps(driveTeam(MACHINE, { say: saying(said) })))
      expect([from, ...(STATES[from]?.Transitions.map(({ To }) => To) ?? [])]).toContain(to);
  });
  property('state machine: a signal of another state is as good as none', (said) => {
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
  });
  property('graph: nothing but the edges of the current node', (said) => {
    for (const [from, to] of steps(driveTeam(GRAPH, { say: saying(said) })))
      expect([from, ...EDGES.filter(({ From }) => From === from).map(({ To }) => To)]).toContain(to);
  });
  property('adversarial: stages in order, never back', (said) => {
    expect(driveTeam(ADVERSARIAL, { say: saying(said) }).path.join('')).toMatch(/^(AB){1,3}(CD){1,3}$/);
  });
  property('scatter-gather: two phases, whatever is said', (said) => {
    expect(driveTeam(SCATTER, { say: saying(said) }).path).toEqual(['A', 'B', 'C']);
  });
  property('map-reduce: three phases, whatever is said', (said) => {
    const say = saying(said);
    const { path } = driveTeam(MAP, {
      say: (agent, call, told) => (agent === 'A' ? JSON.stringify({ items: said }) : say(agent, call, told)),
    });
    expect(path).toEqual(['A', ...said.map(() => 'B'), 'C']);
  });
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
