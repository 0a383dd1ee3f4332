/** Mail for runs in Postgres: facts from processes that do not own the run. The owner is told at once. */
import { SluiceError, hashMail, readMail } from '@sluice-internal/engine/ports';
import type { Letter, Mail } from '@sluice-internal/engine/ports';
import type { RunId } from '@sluice-internal/kernel/ir';
import type { Database } from './database.ts';
import { hashHead } from './heads.ts';
import { headIn } from './lane.ts';
import type { Head, Lane } from './lane.ts';

interface LetterRow {
  readonly id: number;
  readonly run: RunId;
  readonly fact: string;
  readonly hash: string;
  readonly chain: number;
  readonly number: number;
  readonly body: string | null;
  readonly headHash: string | null;
}

export function createMail(database: Database, lane: Lane, onPosted: (run: RunId) => void): Mail {
  return {
    post: async (run, fact) => {
      await database.ready();
      const text = JSON.stringify(fact);
      const { head } = await lane.record(async (place) => {
        const [row] = await database.query<{ r: Head | null }>('SELECT @post($1, $2, $3, $4, $5, $6) AS r', [
          ...[...place, run, text],
          hashMail(database.id, run, text),
        ]);
        return { head: headIn(row?.r as never) };
      });
      if (head === null)
        throw new SluiceError('run-not-found', `there is no run \`${run}\``, 'List them with `sluice runs`.');
      onPosted(run);
    },
    take: async (worker, done = []) => {
      if (done.length > 0)
        await lane.record(async (place) => {
          const [row] = await database.query<{ r: Head | null }>('SELECT @take($1, $2, $3, $4::bigint[]) AS r', [
            ...place,
            done,
          ]);
          return { head: headIn(row?.r as never) };
        });
      const rows = await database.query<LetterRow>(UNREAD, [worker]);
      return rows.map((row): Letter => {
        const { id, run, fact, hash: hashed } = row;
        return { id, run, fact: isPosted(database.id, row) ? readMail(database.id, run, fact, hashed) : null };
      });
    },
  };
}

/** True if the row of heads that it names records the letter. */
function isPosted(store: string, { id, hash, chain, number, body, headHash }: LetterRow): boolean {
  if (body === null || hashHead(store, chain, number, body) !== headHash) return false;
  return body.includes(`[${id},${JSON.stringify(hash)}]`);
}

const UNREAD = `
  SELECT m.id, r.run, m.fact, m.hash, m.chain, m.number, h.body, h.hash AS "headHash"
  FROM @workers w JOIN @runs r ON r.owner = w.id JOIN @mail m ON m.run = r.id
    LEFT JOIN @heads h ON h.chain = m.chain AND h.number = m.number
  WHERE w.worker = $1 AND NOT w.fenced ORDER BY m.id`;
