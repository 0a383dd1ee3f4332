/** `npm run conformance`: plays every golden trajectory and every example on memory, SQLite and Postgres. `npm test` draws a part of them. */
import { run } from './tool.ts';

process.env['SLUICE_CASES'] = 'Infinity';
process.exitCode = run('vitest', ['run', 'test/conformance'], { show: true }).ok ? 0 : 1;
