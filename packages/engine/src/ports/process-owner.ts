/**
 * Names the process that owns a lease, so that another process on the same machine can tell when it has died. The runs of a
 * dead process can be claimed at once. If in doubt, a process counts as alive: if it is stopped, slow or cannot be seen,
 * its runs stay with it until the lease ends.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Null on a system without `/proc`, where a process id alone can name a later process. */
export function thisProcess(): string | null {
  place ??= findPlace();
  const started = statOf(process.pid)?.started;
  return place === '' || started === undefined ? null : `${place} ${process.pid} ${started}`;
}

/** True only if that process ran on this machine and has ended. */
export function isDeadProcess(name: string): boolean {
  place ??= findPlace();
  const [pid = '', started = ''] = name.startsWith(`${place} `) ? name.slice(place.length + 1).split(' ') : [];
  if (place === '' || !/^[1-9]\d*$/.test(pid) || started === '') return false;
  if (!exists(Number(pid))) return true;
  const stat = statOf(Number(pid));
  // The id may have been given to a later process, or to a zombie.
  return stat !== null && (stat.started !== started || stat.state === 'Z' || stat.state === 'X');
}

let place: string | undefined;

/** Process ids are unique within one boot of one machine and one container. Empty where that cannot be read. */
function findPlace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${hostname()} ${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return '';
  }
}

/** Signal 0 also finds processes of other users, which `/proc` may hide. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code !== 'ESRCH';
  }
}

/** Fields 3 and 22. The name in field 2 may contain brackets and blanks. */
function statOf(pid: number): { readonly state: string; readonly started: string } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, started] = [fields[0], fields[19]];
    return state === undefined || started === undefined ? null : { state, started };
  } catch {
    return null;
  }
}
