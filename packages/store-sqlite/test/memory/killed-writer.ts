/** A process that runs a loop with memory and kills itself before or after the write: `node killed-writer.ts JOURNAL before|after`. */
import { createEngine } from '@sluice-internal/library/compose';
import { compile } from '../../../library/src/compile.ts';
import { memoryFileOf, openMemoryStore } from '@sluice-internal/store-sqlite';
import { DOCUMENT, SCRIPT } from './remembering.ts';

const [, , journal = '', when = ''] = process.argv;
const store = openMemoryStore(memoryFileOf(journal));
const engine = createEngine({
  journal,
  script: SCRIPT,
  toolOptions: {
    memory: {
      ...store,
      add: async (caller, entry) => {
        if (when === 'after') await store.add(caller, entry);
        process.kill(process.pid, 'SIGKILL');
        return entry;
      },
    },
  },
});
const { flow } = compile(DOCUMENT);
if (flow === undefined) throw new Error('the document does not compile');
await engine.start(flow, { run: 'r1', input: 'Which order?' });
await engine.settled('r1');
