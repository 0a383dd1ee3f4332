/** Whether what the page shows is what the server knows. */
import type { ReactElement } from 'react';
import { useConnection, useLostAt } from '../data/live.ts';
import { useNow } from '../ui/clock.ts';
import { duration } from '../ui/format.ts';

const WORDS = { live: 'Live', reconnecting: 'Reconnecting', behind: 'Behind' } as const;

export function ConnectionStatus(): ReactElement {
  const connection = useConnection();
  return (
    <span className={`connection is-${connection}`}>
      <i />
      <span role="status">{WORDS[connection]}</span>
      {connection === 'reconnecting' && <LostFor />}
    </span>
  );
}

/** Outside of the status, so that it is not read aloud each second. */
function LostFor(): ReactElement | null {
  const [lostAt, now] = [useLostAt(), useNow()];
  return lostAt === null ? null : <span className="num">{duration(Math.max(1000, now - lostAt))}</span>;
}
