/** A suspended run moves to a new version of its flow if it fits. Otherwise the refusal names each part that does not. */
import { describe, expect, test } from 'vitest';
import { audit, createEngine, openMemory, replay } from '../../src/index.ts';
import type { CompiledFlow, Performer, Run, Store } from '../../src/index.ts';
import { compiled } from '../../../../test/support/harness.ts';
import { valueAt } from '@sluice-internal/engine/ports';

interface Version {
  readonly schema?: object;
  readonly gate?: object;
  readonly write?: object;
  readonly more?: readonly object[];
  readonly undo?: string;
  readonly id?: string;
}

const KIND = { type: 'object', properties: { kind: { type: 'string' } }, required: ['kind'] };

function version({
  schema = KIND,
  gate = {},
  write = {},
  more = [],
  undo = 'pay.reverse',
  id = 'f',
}: Version = {}): CompiledFlow {
  return compiled({
    agents: [{ id: 'a', output: schema }, { id: 'w' }],
    tools: {
      'pay.refund': { effect: 'write', compensate: undo, input: { type: 'object' } },
      [undo]: { effect: 'write', input: { type: 'object' } },
    },
    flow: {
      id,
      entry: 'triage',
      nodes: [
        { id: 'triage', type: 'agent', agent: 'a', routes: [{ to: 'pay' }] },
        { id: 'pay', type: 'tool', tool: 'pay.refund', params: { n: 1 }, routes: [{ to: 'gate' }] },
        {
          ...{ id: 'gate', type: 'approval', message: 'go {{triage.output.kind}}?', choices: ['approve', 'reject'] },
          ...{ routes: [{ to: 'write', when: "approvals.gate == 'approve'" }, { to: 'stop' }] },
          ...gate,
        },
        {
          id: 'write',
          type: 'agent',
          agent: 'w',
          input: { k: '{{triage.output.kind}}' },
          routes: [{ to: 'end' }],
          ...write,
        },
        { id: 'stop', type: 'fail', code: 'VALIDATION_FAIL', message: 'no' },
        ...more,
      ],
    },
  });
}

const POLISHED = version({
  write: { input: { k: 'please {{triage.output.kind}}' }, routes: [{ to: 'polish' }] },
  more: [{ id: 'polish', type: 'agent', agent: 'w', input: { k: '{{write.output}}' } }],
});

function performer(calls: string[] = []): Performer {
  return {
    perform: async ({ command: { name } }) => {
      calls.push(name);
      return { ok: true, value: { text: name === 'a' ? '{"kind":"x"}' : 'done' } };
    },
  };
}

async function waiting(
  journal: Store,
  calls?: string[],
): Promise<{ engine: ReturnType<typeof createEngine>; run: Run }> {
  const engine = createEngine({ journal, performer: performer(calls) });
  const run = await engine.run(version(), {}, { id: 'one' });
  await run.waiting();
  return { engine, run };
}

describe('a run that fits', () => {
  test('continues in a new run, and nothing is called again', async () => {
    const journal = openMemory();
    const calls: string[] = [];
    const { engine, run } = await waiting(journal, calls);
    const [before] = await run.waiting();
    const moved = await engine.migrate('one', POLISHED, { by: 'olga', run: 'two' });
    expect(calls).toEqual(['a', 'pay.refund']);
    const [question] = await moved.waiting();
    expect(question).toMatchObject({
      id: before?.id.replace('one', 'two'),
      payload: before?.payload,
      message: 'go x?',
    });
    expect(await engine.get('one')).toMatchObject({ state: 'cancelled', code: 'USER_CANCEL', movedTo: 'two' });
    await engine.answer(question?.id ?? '', { choice: 'approve', by: 'ann' });
    expect((await moved.result()).code).toBe('SUCCESS');
    expect(calls).toEqual(['a', 'pay.refund', 'w', 'w']);
    expect(await engine.get('two')).toMatchObject({
      path: ['triage', 'pay', 'gate', 'write', 'polish'],
      parent: { run: 'one' },
      hash: POLISHED.hash,
    });
    for (const id of ['one', 'two']) {
      expect(await audit(journal.journal, id, await journal.index.find(id))).toMatchObject({ ok: true });
      expect(await replay(journal.journal, id, await journal.index.find(id))).toMatchObject({ agrees: true });
    }
    await engine.close();
  });

  test('the new run undoes what the old one did; the old one undoes nothing', async () => {
    const calls: string[] = [];
    const { engine } = await waiting(openMemory(), calls);
    const moved = await engine.migrate('one', POLISHED, { run: 'two' });
    expect(calls).not.toContain('pay.reverse');
    const [question] = await moved.waiting();
    await engine.answer(question?.id ?? '', { choice: 'reject', by: 'ann' });
    expect((await engine.settled('two')).code).toBe('VALIDATION_FAIL');
    expect(calls).toEqual(['a', 'pay.refund', 'pay.reverse']);
    await engine.close();
  });

  test('an answer to the old question names the new one', async () => {
    const { engine, run } = await waiting(openMemory());
    const [old] = await run.waiting();
    await engine.migrate('one', POLISHED, { run: 'two' });
    await expect(engine.answer(old?.id ?? '', { choice: 'approve', by: 'ann' })).rejects.toThrow(
      'moved to `two`, which asks `a_two',
    );
    await expect(engine.migrate('one', POLISHED)).rejects.toThrow('was moved to `two`');
    await engine.close();
  });

  test('takes over the reservation of the old run', async () => {
    const journal = openMemory();
    const engine = createEngine({
      journal,
      performer: performer(),
      tenant: 'acme',
      quotas: { acme: { concurrent: 1, runs: 1 } },
    });
    await (await engine.run(version(), {}, { id: 'one' })).waiting();
    await engine.migrate('one', POLISHED, { run: 'two' });
    expect(await valueAt(journal.shared, 'quota.use:acme')).toMatchObject({ runs: 1, reservations: { two: {} } });
    await engine.close();
  });

  test('a move that was interrupted after the old run had ended is completed by moving again', async () => {
    const whole = openMemory();
    let fails = true;
    const journal: Store = {
      ...whole,
      journal: {
        ...whole.journal,
        commit: async (worker, appends) => {
          if (fails && appends.some(({ run }) => run === 'two')) throw new Error('killed');
          return whole.journal.commit(worker, appends);
        },
      },
    };
    const { engine } = await waiting(journal);
    await expect(engine.migrate('one', POLISHED, { run: 'two' })).rejects.toThrow('killed');
    fails = false;
    const next = createEngine({ journal, performer: performer() });
    const moved = await next.migrate('one', POLISHED, { run: 'three' });
    expect(moved.id).toBe('two');
    const [question] = await moved.waiting();
    await next.answer(question?.id ?? '', { choice: 'approve', by: 'ann' });
    expect((await moved.result()).code).toBe('SUCCESS');
    expect(await replay(whole.journal, 'two', await whole.index.find('two'))).toMatchObject({ agrees: true });
    await next.close();
    await engine.close().catch(() => undefined);
  });
});

describe('a run that does not fit is refused, and stays as it is', () => {
  const typed = (name: string): object => ({
    type: 'object',
    properties: { kind: { type: 'string' }, [name]: { type: 'string' } },
    required: ['kind'],
  });
  const cases: readonly (readonly [string, CompiledFlow, readonly string[]])[] = [
    ['other choices', version({ gate: { choices: ['approve', 'reject', 'later'] } }), ['node `gate`', 'other choices']],
    ['another message', version({ gate: { message: 'pay {{triage.output.kind}}?' } }), ['another message or payload']],
    [
      'another type of node',
      version({
        gate: {
          type: 'set',
          values: { x: '1' },
          message: undefined,
          choices: undefined,
          routes: [{ to: 'write', when: "triage.output.kind == 'x'" }, { to: 'stop' }],
        },
      }),
      ['node `gate`', 'another type'],
    ],
    [
      'a new field of an earlier result',
      version({ schema: typed('urgency'), write: { input: { k: '{{triage.output.urgency}}' } } }),
      ['value `triage.output.urgency`', '`write` reads it'],
    ],
    [
      'a result that the new schema does not allow',
      version({ schema: { type: 'object', properties: { kind: { enum: ['a', 'b'] } }, required: ['kind'] } }),
      ['value `triage.output`', 'does not fit the new `output`'],
    ],
    ['no compensation', version({ undo: 'pay.take_back' }), ['tool `pay.reverse`']],
    ['another flow', version({ id: 'g' }), ['the run is of `f`, and the document is `g`']],
  ];

  test.each(cases)('%s', async (_, flow, parts) => {
    const { engine } = await waiting(openMemory());
    for (const part of parts) await expect(engine.migrate('one', flow)).rejects.toThrow(part);
    await expect(engine.migrate('one', flow)).rejects.toMatchObject({ code: 'bad-migration' });
    expect(await engine.list()).toHaveLength(1);
    expect(await engine.get('one')).toMatchObject({ state: 'suspended' });
    await engine.close();
  });

  test('a node that was inserted before the position, and is read after it', async () => {
    const flow = compiled({
      agents: [{ id: 'a', output: KIND }, { id: 'w' }],
      tools: {
        'pay.refund': { effect: 'write', compensate: 'pay.reverse', input: { type: 'object' } },
        'pay.reverse': { effect: 'write', input: { type: 'object' } },
      },
      flow: {
        id: 'f',
        entry: 'triage',
        nodes: [
          { id: 'triage', type: 'agent', agent: 'a', routes: [{ to: 'score' }] },
          { id: 'score', type: 'agent', agent: 'w', routes: [{ to: 'pay' }] },
          { id: 'pay', type: 'tool', tool: 'pay.refund', params: { n: 1 }, routes: [{ to: 'gate' }] },
          {
            ...{ id: 'gate', type: 'approval', message: 'go {{triage.output.kind}}?', choices: ['approve', 'reject'] },
            routes: [{ to: 'write' }],
          },
          { id: 'write', type: 'agent', agent: 'w', input: { k: '{{score.output}}' } },
        ],
      },
    });
    const { engine } = await waiting(openMemory());
    await expect(engine.migrate('one', flow)).rejects.toThrow(
      'value `score.output`: `write` reads it, and the run does not have it',
    );
    await engine.close();
  });

  test('a run that has ended', async () => {
    const { engine, run } = await waiting(openMemory());
    await run.cancel({ by: 'ann' });
    await engine.settled('one');
    await expect(engine.migrate('one', POLISHED)).rejects.toMatchObject({ code: 'run-ended' });
    await engine.close();
  });
});

test('open branches move if they are the same', async () => {
  const gates = (second: string, later: object[] = []): CompiledFlow =>
    compiled({
      flow: {
        id: 'p',
        entry: 'both',
        nodes: [
          {
            id: 'both',
            type: 'parallel',
            branches: [{ to: 'one' }, { to: second }],
            join: { type: 'all' },
            routes: [{ to: 'done' }],
          },
          { id: 'one', type: 'approval', message: '1?', choices: ['yes', 'no'] },
          { id: second, type: 'approval', message: '2?', choices: ['yes', 'no'] },
          {
            id: 'done',
            type: 'set',
            values: { ok: '{{true}}' },
            ...(later.length === 0 ? {} : { routes: [{ to: 'more' }] }),
          },
          ...later,
        ],
      },
    });
  const engine = createEngine({ journal: openMemory(), performer: performer() });
  const run = await engine.run(gates('two'), {}, { id: 'r' });
  const [first] = await run.waiting();
  await engine.answer(first?.id ?? '', { choice: 'yes', by: 'ann' });
  await expect(engine.migrate('r', gates('three'))).rejects.toThrow('its branches are open');
  const moved = await engine.migrate('r', gates('two', [{ id: 'more', type: 'set', values: { x: '{{1}}' } }]), {
    run: 's',
  });
  const open = await moved.waiting();
  expect(open.map(({ message }) => message)).toEqual(['2?']);
  await engine.answer(open[0]?.id ?? '', { choice: 'yes', by: 'ann' });
  expect((await engine.settled('s')).path).toContain('more');
  await engine.close();
});
