/**
 * `npm run mutate [-- FILE…]`: changes the core in small ways, one at a time, and says which changes no test noticed. FILE
 * is the name of a file in packages/kernel/src/core without its ending. Only fast tests that watch the core are run, and those of
 * them that draw random cases draw the same ones each time.
 */
import { run } from './tool.ts';

const FILES = ['admit', 'fork', 'meters', 'settle', 'slots', 'undo'];
const LAWS = ['approvals', 'branches', 'endings', 'facts', 'reserve', 'slots', 'undo'];
const TESTS = [
  'packages/kernel/test/core/*.test.ts',
  'packages/engine/test/protections/velocity.test.ts',
  ...['core/*', 'differential/*', ...LAWS.map((law) => `laws/${law}`)].map((name) => `test/${name}.test.ts`),
];

process.env['SLUICE_TESTS'] = TESTS.join(' ');
process.env['SEED'] = '1';
process.env['SLUICE_RUNS'] = '150';

const given = process.argv.slice(2);
const files = (given.length > 0 ? given : FILES).map((name) => `packages/kernel/src/core/${name}.ts`);
const stryker = 'mutation/node_modules/@stryker-mutator/core/bin/stryker.js';
// Stryker cannot read the project's tsconfig without the programming interface that TypeScript 7 does not have: it is
// told of one that is not there.
const { ok } = run('node', [stryker, 'run', 'mutation/stryker.json', '--mutate', files.join(',')], { show: true });
process.exitCode = ok ? 0 : 1;
