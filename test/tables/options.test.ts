/** An option that takes access away is an error when it is there and empty. The table has every option of the public functions. */
import { expect, test } from 'vitest';
import { OPTIONS } from '@sluice-internal/engine/ports';
import { createEngine, createMemoryStore, openMemory, openPostgres, openSqlite } from '@sluice-internal/library';
import { folder } from '../../packages/cli/test/cli/cli.ts';
import { sluice } from '../../packages/cli/test/cli/in-process.ts';
import { compiled } from '../support/harness.ts';

const FLOW = compiled({ flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'set', values: { x: 1 } }] } });

type Options = { readonly [option: string]: unknown };

/** A call of each function with these options; each is complete but for them. */
const CALLS: { readonly [Of in keyof typeof OPTIONS]: (options: Options) => unknown } = {
  createEngine: (options) => createEngine({ journal: openMemory(), ...options }),
  toolOptions: (toolOptions) => createEngine({ journal: openMemory(), toolOptions }),
  'engine.as': (options) => engine().as({ access: ['admin'], ...options }),
  'engine.start': (options) => engine().start(FLOW, options),
  'engine.run': (options) => engine().run(FLOW, {}, options),
  origin: (origin) => engine().start(FLOW, { origin }),
  'engine.answer': (options) => engine().answer('a_r_1.0', { choice: 'yes', by: 'anna', ...options }),
  openPostgres: (options) => openPostgres('postgres://localhost/none', options),
  openSqlite: (options) => openSqlite(':memory:', options),
  sluice: async (options) => {
    for (const [name, value] of Object.entries(options)) {
      const flag = name === 'olderThan' ? '--older-than' : `--${name}`;
      const command = COMMANDS[name] ?? ['run', 'f.yaml'];
      // A command line has texts only.
      const { stderr } = await sluice([...command, `${flag}=${typeof value === 'string' ? value : ''}`], {
        cwd: folder(),
      });
      throw Object.assign(new Error(stderr.replaceAll(flag, name)), {
        code: stderr.includes('error[usage]') ? 'bad-start' : stderr,
      });
    }
  },
  memory: (caller) => createMemoryStore().find({ operator: 'olga', ...caller }, { now: 0 }),
};

const COMMANDS: { readonly [option: string]: readonly string[] } = {
  as: ['answer', 'a_r_1.0', 'approve'],
  payload: ['answer', 'a_r_1.0', 'approve'],
  key: ['answer', 'a_r_1.0', 'approve'],
  heads: ['audit', 'verify'],
  flow: ['prune'],
  olderThan: ['prune'],
};

function engine() {
  return createEngine({ journal: openMemory() });
}

const EMPTY: readonly unknown[] = [undefined, null, '', ' ', '\u200B', []];

const less = Object.entries(OPTIONS).flatMap(([of, options]) =>
  Object.entries(options).flatMap(([option, meaning]) =>
    meaning === 'less' ? [[of as keyof typeof OPTIONS, option] as const] : [],
  ),
);

test.each(less)('%s: `%s` without a value is refused', async (of, option) => {
  for (const value of EMPTY) {
    // `engine.as` knows null as the runs without a tenant.
    if (of === 'engine.as' && value === null) continue;
    const call = async (): Promise<unknown> => CALLS[of]({ [option]: value });
    await expect(call(), JSON.stringify(value)).rejects.toMatchObject({
      code: expect.stringMatching(/^(bad-(start|answer)|compile-failed)$/),
      message: expect.stringContaining(option),
    });
  }
});

test('every function of the table has options that take access away', () => {
  expect([...new Set(less.map(([of]) => of))]).toEqual(Object.keys(OPTIONS));
});
