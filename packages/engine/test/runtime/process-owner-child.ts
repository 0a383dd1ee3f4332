/** Says who it is, and then does what it is told to: stay, or leave. */
import { thisProcess } from '../../src/ports/process-owner.ts';

process.stdout.write(`${thisProcess()}\n`);
if (process.argv[2] === 'stay') setInterval(() => undefined, 1000);
