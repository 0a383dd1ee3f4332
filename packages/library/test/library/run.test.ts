/** A flow as a value, run through the handle of a run. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import {
  CompileError,
  PerformError,
  RunFailedError,
  SluiceError,
  agent,
  compile,
  createEngine,
  flow,
  openMemory,
  tool,
} from '../../src/index.ts';
import type { CreateEngineOptions, RunEvent, ToolContext } from '../../src/index.ts';
import { YAML, paid, refunds, reversed } from './refunds.ts';

const SCRIPT = { agents: { triage: ['{"kind": "refund", "order": "A-1", "amount": 20}'] } };
const engineWith = (options: CreateEngineOptions = {}) =>
  createEngine({ journal: openMemory(), script: SCRIPT, ...options });

test('an engine starts what `compile` returns, and says why it cannot', async () => {
  await using engine = engineWith();
  const compiled = compile(YAML);
  const started = await engine.start(compiled, { input: { message: 'money back' } });
  expect(await engine.settled(started)).toMatchObject({ state: 'suspended', hash: compiled.flow?.hash });
  const broken = compile(YAML.replaceAll('agent: triage', 'agent: triag'), { file: 'refunds.yaml' });
  const refusal = engine.run(broken, { message: 'money back' });
  await expect(refusal).rejects.toBeInstanceOf(CompileError);
  await expect(refusal).rejects.toMatchObject({ diagnostics: broken.diagnostics });
  await expect(refusal).rejects.toThrow('`refunds.yaml` has');
  for (const given of [YAML, { flow: {} }, null, undefined])
    await expect(engine.start(given as never)).rejects.toMatchObject({
      code: 'bad-start',
      message: 'there is no flow to start',
      help: 'Pass the result of `compile`, or a definition.',
    });
});

describe('a flow as a value', () => {
  test('has the graph and the hash of its YAML', () => {
    const value = compile(refunds.document);
    const yaml = compile(YAML);
    expect(value.diagnostics).toEqual([]);
    expect(value.flow?.hash).toMatch(/^sha256:/);
    expect(value.flow?.hash).toBe(yaml.flow?.hash);
    expect(value.bounds).toEqual(yaml.bounds);
  });

  test('runs, asks, goes on after the answer, and calls its function once', async () => {
    await using engine = engineWith();
    const run = await engine.run(refunds, { message: 'money back' });
    const events: RunEvent[] = [];
    for await (const event of run.events()) {
      events.push(event);
      if (event.type === 'question.asked') await run.answer('gate', 'approve', { by: 'anna' });
    }
    const types = events.map(({ type }) => type);
    const question = events.find(({ type }) => type === 'question.asked');
    expect(question).toMatchObject({ message: 'Refund 20?', choices: ['approve', 'reject'], node: 'gate' });
    const { output, code, approvals } = await run.result();
    expect(output).toEqual({ receipt: 're_A-1', paid: 20 });
    expect(code).toBe('SUCCESS');
    expect(approvals).toEqual({ gate: 'approve' });
    expect(paid.filter(({ order }) => order === 'A-1')).toHaveLength(1);
    expect(types).toEqual(
      expect.arrayContaining(['model.started', 'budget.changed', 'tool.allowed', 'tool.started', 'tool.finished']),
    );
    expect(types.at(-1)).toBe('run.ended');
  });

  test('a function of the engine replaces the function of a tool by its name', async () => {
    const before = paid.length;
    await using engine = engineWith({ tools: { 'payments.refund': () => ({ receipt: 'fake', paid: 0 }) } });
    const run = await engine.run(refunds, { message: 'money back' });
    await run.answer('gate', 'approve', { by: 'anna' });
    expect((await run.result()).output).toEqual({ receipt: 'fake', paid: 0 });
    expect(paid).toHaveLength(before);
  });

  test('a rejected question ends the flow with `reject`', async () => {
    await using engine = engineWith();
    const run = await engine.run(refunds, { message: 'money back' });
    await run.answer('gate', 'reject', { by: 'anna' });
    expect((await run.result()).output).toBe('reject');
  });

  test('is undone when the run is cancelled after the payment', async () => {
    const wait = tool('wait.forever', {
      effect: 'read',
      run: (_, { signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    });
    const slow = refunds.step(wait);
    await using engine = engineWith({ flows: [slow], script: { ...SCRIPT, clock: 'real' } });
    const run = await engine.run(slow, { message: 'money back' });
    await run.answer('gate', 'approve', { by: 'anna' });
    for await (const event of run.events()) if (event.type === 'tool.started' && event.tool === 'wait.forever') break;
    const before = reversed.length;
    await run.cancel({ by: 'anna', reason: 'mistake' });
    await expect(run.result()).rejects.toThrow(RunFailedError);
    expect((await run.report()).code).toBe('USER_CANCEL');
    expect(reversed).toHaveLength(before + 1);
  });

  test('an input that does not fit its schema starts nothing', async () => {
    await using engine = engineWith();
    const wrong = { message: 3 } as unknown as { message: string };
    await expect(engine.run(refunds, wrong)).rejects.toMatchObject({
      code: 'bad-start',
      message: expect.stringContaining('message') as string,
    });
    expect(await engine.list()).toEqual([]);
  });

  test('a definition with mistakes throws one error with every diagnostic', async () => {
    const broken = flow('broken', { budgets: { modelCalls: -1 } }).step(
      agent('a', { instructions: '', model: '', temperature: 9 }),
    );
    await using engine = engineWith();
    const error = await engine.run(broken, {}).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CompileError);
    expect(error).toBeInstanceOf(SluiceError);
    const { diagnostics, message } = error as CompileError;
    expect(diagnostics.length).toBeGreaterThan(1);
    for (const { message: each } of diagnostics) expect(message).toContain(each);
  });

  test('the result of a failed run is an error with the report', async () => {
    const fails = flow('fails', { input: z.object({}) }).step(
      tool('a.fails', {
        run: () => {
          throw new Error('no');
        },
      }),
    );
    await using engine = engineWith();
    const run = await engine.run(fails, {});
    const error = (await run.result().catch((thrown: unknown) => thrown)) as RunFailedError;
    expect(error).toBeInstanceOf(RunFailedError);
    expect(error.report.state).toBe('failed');
    expect(error.message).toContain('no');
  });

  test('an answer to a run that has ended is refused with the reason of its end', async () => {
    const answered = async (reply: object): Promise<unknown> => {
      await using engine = createEngine({ journal: openMemory(), script: { agents: { triage: [reply] } } });
      const run = await engine.run(refunds, { message: 'x' });
      return await run.answer('gate', 'approve', { by: 'anna' }).catch((thrown: unknown) => thrown);
    };
    expect(await answered({ error: 'fatal', message: 'no key' })).toMatchObject({
      code: 'run-failed',
      message: expect.stringContaining('no key'),
    });
    expect(await answered({ text: '{"kind": "other", "order": "", "amount": 0}' })).toMatchObject({
      code: 'run-ended',
    });
  });

  test('an unknown question is refused with the open ones', async () => {
    await using engine = engineWith();
    const run = await engine.run(refunds, { message: 'x' });
    await expect(run.answer('gaet' as 'gate', 'approve', { by: 'anna' })).rejects.toMatchObject({
      code: 'approval-not-found',
      help: 'Did you mean `gate`?',
    });
  });
});

test('a function that undoes a call gets its result, from a definition and from the engine', async () => {
  const undone: unknown[] = [];
  const undo = (args: object, { result }: ToolContext) => void undone.push({ args, result });
  const cancel = tool('hotel.cancel', { run: undo });
  const book = tool('hotel.book', { compensate: cancel, run: (_, { result }) => ({ room: 7, before: result }) });
  const trip = flow('trip', {})
    .step(book, () => ({ guest: 'ann' }))
    .fail('VALIDATION_FAIL', () => 'no seat');
  for (const tools of [undefined, { 'hotel.cancel': undo }]) {
    await using engine = createEngine({ journal: openMemory(), tools });
    await expect((await engine.run(trip, {})).result()).rejects.toBeInstanceOf(RunFailedError);
  }
  const each = { args: { guest: 'ann' }, result: { room: 7, before: null } };
  expect(undone).toEqual([each, each]);
});

test('an entry of a script needs no list, as in a script file', async () => {
  const script = {
    agents: { triage: '{"kind": "refund", "order": "A-9", "amount": 5}' },
    tools: { 'payments.refund': { result: { receipt: 'scripted', paid: 5 } } },
    approvals: { gate: 'approve' },
  };
  await using engine = createEngine({ journal: openMemory(), script });
  const run = await engine.run(refunds, { message: 'money back' });
  expect((await run.result()).output).toEqual({ receipt: 'scripted', paid: 5 });
});

test('a tool that throws a malformed PerformError fails with a class, a type and a message', async () => {
  const busy = tool('db.write', {
    effect: 'write',
    run: () => {
      throw new PerformError('transient' as never);
    },
  });
  await using engine = engineWith();
  const run = await engine.run(
    flow('busy', {}).step(busy, () => ({})),
    {},
  );
  const failed = await run.result().catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(RunFailedError);
  expect((failed as RunFailedError).report.error).toMatchObject({
    class: 'fatal',
    type: 'TypeError',
    message: expect.stringContaining('`class` of a PerformError must be one of') as string,
  });
});

describe('readers of events', () => {
  const waitingRun = async (engine: ReturnType<typeof createEngine>) => {
    const run = await engine.run(refunds, { message: 'x' });
    await run.waiting();
    return run;
  };
  /** The reader waits for the next event, which never comes. */
  const endOfWait = async (
    end: (reader: AsyncIterableIterator<RunEvent>, stop: AbortController) => void,
  ): Promise<IteratorResult<RunEvent>> => {
    await using engine = engineWith();
    const run = await waitingRun(engine);
    const stop = new AbortController();
    const reader = run.events({ signal: stop.signal });
    for (;;) {
      const next = await reader.next();
      if (next.value?.type === 'question.asked') break;
    }
    const pending = reader.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
    end(reader, stop);
    return pending;
  };

  test('an aborted signal ends a reader of a waiting run', async () => {
    expect(await endOfWait((_, stop) => stop.abort())).toEqual({ done: true, value: undefined });
  });

  test('`return` ends a reader of a waiting run', async () => {
    expect(await endOfWait((reader) => void reader.return?.())).toEqual({ done: true, value: undefined });
  });

  test('a reader resumes after any event, without a gap and without a repetition', async () => {
    await using engine = engineWith();
    const run = await waitingRun(engine);
    await run.answer('gate', 'approve', { by: 'anna' });
    await run.result();
    const all: RunEvent[] = [];
    for await (const event of run.events()) all.push(event);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    for (const [index, { id }] of all.entries()) {
      const rest: RunEvent[] = [];
      for await (const event of run.events({ after: id })) rest.push(event);
      expect(rest).toEqual(all.slice(index + 1));
    }
  });

  test('a result that is waited for ends with its signal', async () => {
    await using engine = engineWith();
    const run = await waitingRun(engine);
    const stop = new AbortController();
    const result = run.result({ signal: stop.signal });
    stop.abort();
    await expect(result).rejects.toThrow('abort');
  });
});

describe('another engine', () => {
  test('continues the run of a definition that it is given', async () => {
    const journal = openMemory();
    const first = createEngine({ journal: { ...journal, close: async () => undefined }, script: SCRIPT });
    const { id } = await first.run(refunds, { message: 'x' });
    await first.wait(id);
    await first.close();
    await using second = createEngine({ journal, flows: [refunds], script: SCRIPT });
    const run = await second.open(id, { definition: refunds });
    await run.answer('gate', 'approve', { by: 'anna' });
    expect((await run.result()).output).toMatchObject({ paid: 20 });
  });

  test('waits for the functions of a run until its definition is known', async () => {
    const journal = openMemory();
    const first = createEngine({ journal: { ...journal, close: async () => undefined }, script: SCRIPT });
    const { id } = await first.run(refunds, { message: 'x' });
    await first.wait(id);
    await first.close();
    const notices: string[] = [];
    await using second = createEngine({ journal, script: SCRIPT, onNotice: (message) => void notices.push(message) });
    await (await second.open(id)).answer('gate', 'approve', { by: 'anna' });
    await expect.poll(() => notices.join()).toContain('waits for the function of `payments.refund`');
    expect((await (await second.open(id, { definition: refunds })).result()).output).toMatchObject({ paid: 20 });
  });
});
