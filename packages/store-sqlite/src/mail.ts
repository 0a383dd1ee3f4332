/** Mail for runs in SQLite: facts from processes that do not own the run. */
import { SluiceError, hashMail, readMail } from '@sluice-internal/engine/ports';
import type { Letter, Mail } from '@sluice-internal/engine/ports';
import type { Connection } from './connection.ts';
import { weightOf } from './sealed-run.ts';
import type { Seals } from './seals.ts';

export function createMail(connection: Connection, seals: Seals): Mail {
  const { prepare } = connection;
  const { store } = seals;
  const insert = prepare('INSERT INTO mail (run, fact, hash) SELECT id, ?, ? FROM runs WHERE run = ?');
  const find = prepare('SELECT hash FROM mail WHERE id = ?');
  const remove = prepare('DELETE FROM mail WHERE id = ?');
  const unread = prepare(
    `SELECT mail.id, runs.run, mail.fact, mail.hash FROM mail JOIN runs ON runs.id = mail.run JOIN workers ON workers.id = runs.owner
     WHERE workers.worker = ? AND workers.fenced = 0 ORDER BY mail.id`,
  );
  const removeAll = (ids: readonly number[]): void => {
    const suspect = seals.suspectMail();
    for (const id of ids) {
      const row = find.get(id) as unknown as [string] | undefined;
      if (row !== undefined && !suspect.has(id)) seals.changeMail(-weightOf('mail', row[0]));
      remove.run(id);
    }
    if (suspect.size > 0) seals.resetMail();
  };
  return {
    post: async (run, fact) =>
      connection.write(() => {
        const text = JSON.stringify(fact);
        const hashed = hashMail(store, run, text);
        const { changes } = insert.run(text, hashed, run);
        if (changes === 0)
          throw new SluiceError('run-not-found', `there is no run \`${run}\``, 'List them with `sluice runs`.');
        seals.changeMail(weightOf('mail', hashed));
      }),
    take: async (worker, done = []) => {
      if (done.length > 0) connection.write(() => removeAll(done));
      return connection.read(() => {
        const rows = unread.all(worker) as unknown as [number, string, string, string][];
        const suspect = rows.length === 0 ? null : seals.suspectMail();
        return rows.map(([id, run, fact, hashed]): Letter => {
          const isForged = suspect?.has(id) === true;
          return { id, run, fact: isForged ? null : readMail(store, run, fact, hashed) };
        });
      });
    },
  };
}
