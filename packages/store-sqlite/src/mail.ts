/** Mail for runs in SQLite: facts from processes that do not own the run. */
import { SluiceError, hashMail, readMail } from '@sluice-internal/engine/ports';
import type { Letter, Mail } from '@sluice-internal/engine/ports';
import type { Connection } from './connection.ts';
import type { Heads } from './heads.ts';
import { placeOfLetter } from './places.ts';

export function createMail(connection: Connection, heads: Heads): Mail {
  const { codec, prepare } = connection;
  const { store } = heads;
  const insert = prepare('INSERT INTO mail (run, fact, hash, posted) SELECT id, ?, ?, ? FROM runs WHERE run = ?');
  const find = prepare('SELECT posted FROM mail WHERE id = ?');
  const remove = prepare('DELETE FROM mail WHERE id = ?');
  const unread = prepare(
    `SELECT mail.id, runs.run, mail.fact, mail.hash, mail.posted FROM mail JOIN runs ON runs.id = mail.run JOIN workers ON workers.id = runs.owner
     WHERE workers.worker = ? AND workers.fenced = 0 ORDER BY mail.id`,
  );
  const removeAll = (ids: readonly number[]): void => {
    for (const id of ids) {
      const row = find.get(id) as unknown as [number] | undefined;
      // A forged letter was never recorded.
      if (row !== undefined && heads.wasPosted(id, row[0])) heads.done(id);
      remove.run(id);
    }
  };
  return {
    post: async (run, fact) =>
      connection.write(() => {
        const text = JSON.stringify(fact);
        const hashed = hashMail(store, run, text);
        const { changes, lastInsertRowid } = insert.run(
          codec.seal(text, placeOfLetter(store, run, hashed)),
          hashed,
          heads.at(),
          run,
        );
        if (changes === 0)
          throw new SluiceError('run-not-found', `there is no run \`${run}\``, 'List them with `sluice runs`.');
        heads.posted(Number(lastInsertRowid), hashed);
      }),
    take: async (worker, done = []) => {
      if (done.length > 0) connection.write(() => removeAll(done));
      return connection.read(() => {
        const rows = unread.all(worker) as unknown as [number, string, string, string, number][];
        // A letter that a newer key has sealed waits for this key.
        const readable = rows.filter(([, , fact]) => codec.has(fact));
        return readable.map(([id, run, fact, hashed, at]): Letter => {
          const isForged = !heads.isPosted(id, hashed, at);
          if (isForged) return { id, run, fact: null };
          return { id, run, fact: readMail(store, run, codec.open(fact, placeOfLetter(store, run, hashed)), hashed) };
        });
      });
    },
  };
}
