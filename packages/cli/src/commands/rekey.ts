/** `sluice rekey`: seals everything that is stored with the first key in SLUICE_JOURNAL_KEY. Runs go on meanwhile. */
import { codecOfProcess, operate } from '@sluice-internal/engine/ports';
import { closing } from '@sluice-internal/library/host';
import { plural, usage } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { attachmentsBeside, memoryBeside } from '@sluice-internal/store-sqlite';
import { currentUser } from '../session/ask-person.ts';
import { demandDatabase, demandOperator, withStore } from '../session/store.ts';

export async function rekeyCommand(cli: Cli): Promise<void> {
  demandOperator(cli, 'the database has one key for all tenants');
  const { key } = codecOfProcess();
  if (key === null)
    throw usage(
      '`rekey` needs a key in SLUICE_JOURNAL_KEY',
      'Make one with `openssl rand -base64 32`, and put it before the keys that are in use, with a comma.',
    );
  demandDatabase(cli, 'run-not-found', 'there is nothing to seal');
  const rows = await withStore(
    cli,
    async ({ rekey, shared }) => {
      if (rekey === undefined) throw usage('this store cannot be sealed with another key', 'Use a database.');
      const count = await rekey();
      const act = { at: Date.now(), by: currentUser(), what: 'journal.rekeyed', key: 'journal', why: key };
      if (count > 0) await operate(shared, act, () => key);
      return count;
    },
    false,
  );
  const attachments = await closing(attachmentsBeside(cli.db), async (store) => store.rekey());
  const memory = await closing(memoryBeside(cli.db), async (store) => store.rekey());
  const count = rows + attachments + memory;
  cli.show({ key, rows, attachments, memory }, () =>
    count === 0
      ? `everything was sealed with the key ${key} already`
      : `${plural(count, 'value')} ${count === 1 ? 'is' : 'are'} sealed with the key ${key} now`,
  );
}
