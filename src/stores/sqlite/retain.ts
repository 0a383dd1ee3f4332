/** Forgets ended runs. Of each remains a tombstone: which run it was, how long its chain was, and where it ended. */
import type { RunId } from '../../ir/events.ts';
import type { Roster } from '../../runtime/ports.ts';
import type { Connection } from './connection.ts';

export function createRetain(connection: Connection): Pick<Roster, 'retain'> {
  const { known, graphs, prepare } = connection;
  const beyond = prepare(
    `SELECT id, run, graph FROM runs WHERE notation = ?1 AND status IN ('completed', 'failed', 'cancelled')
     ORDER BY started_at, id LIMIT max(0, (SELECT count(*) FROM runs WHERE notation = ?1) - ?2)`,
  );
  const bury = prepare(
    `INSERT INTO tombstones (id, run, events, hash, at)
     SELECT runs.id, runs.run, log.after + log.count, log.hash, CAST(unixepoch('subsec') * 1000 AS INTEGER)
     FROM runs JOIN log ON log.run = runs.id WHERE runs.id = ? ORDER BY log.after DESC LIMIT 1`,
  );
  const remove = ['log WHERE run', 'blobs WHERE run', 'snapshots WHERE run', 'mail WHERE run', 'runs WHERE id'].map(
    (what) => prepare(`DELETE FROM ${what} = ?`),
  );
  const dropFlow = prepare('DELETE FROM flows WHERE id = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE graph = flows.id)');

  return {
    retain: async (notation, keep) => {
      const find = (): Row[] => beyond.all(notation, keep) as unknown as Row[];
      // Mostly there is nothing to forget, and finding that out needs no writer's lock.
      if (connection.read(find).length === 0) return [];
      return connection.write(() => {
        const rows = find();
        for (const [id, run, graph] of rows) {
          bury.run(id);
          for (const each of remove) each.run(id);
          dropFlow.run(graph);
          known.delete(run);
          graphs.clear();
        }
        return rows.map(([, run]) => run);
      });
    },
  };
}

type Row = readonly [id: number, run: RunId, graph: number];
