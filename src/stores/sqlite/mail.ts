/** What others want a run to know. It stays until the run's owner has dealt with it. */
import type { Mail, Roster } from '../../runtime/ports.ts';
import { SluiceError } from '../../runtime/errors.ts';
import type { Connection } from './connection.ts';

export function createMail(connection: Connection): Pick<Roster, 'post' | 'mail' | 'strike'> {
  const { prepare } = connection;
  const insert = prepare('INSERT INTO mail (run, fact) SELECT id, ? FROM runs WHERE run = ?');
  const remove = prepare('DELETE FROM mail WHERE id = ?');
  const unread = prepare(
    `SELECT mail.id, runs.run, mail.fact FROM mail JOIN runs ON runs.id = mail.run JOIN workers ON workers.id = runs.owner
     WHERE workers.worker = ? AND workers.fenced = 0 ORDER BY mail.id`,
  );
  return {
    post: async (run, fact) =>
      connection.write(() => {
        const { changes } = insert.run(JSON.stringify(fact), run);
        if (changes === 0) throw new SluiceError('run-not-found', `there is no run \`${run}\``);
      }),
    mail: async (worker) =>
      connection.read(() =>
        (unread.all(worker) as unknown as [number, string, string][]).map(([id, run, fact]) => ({
          id,
          run,
          fact: JSON.parse(fact) as Mail['fact'],
        })),
      ),
    strike: async (ids) => {
      if (ids.length > 0) connection.write(() => ids.forEach((id) => remove.run(id)));
    },
  };
}
